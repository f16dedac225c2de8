#!/bin/sh
# Makes the logins in a new database, with the passwords that stand in their addresses. PostgreSQL's image runs it once.
set -eu
secrets=${SECRETS:-/run/secrets}
logins=${LOGINS:-/holdfast/logins.sql}
run() { psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" "$@"; }

run --file "$logins"
for login in migrate worker server; do
    password=$(sed -E 's|^[^:]+://[^:]+:([^@]+)@.*$|\1|' "$secrets/$login-url")
    # On standard input, not as an argument: arguments are in every list of processes.
    printf "alter role shop_%s password '%s';\n" "$login" "$password" | run
done
