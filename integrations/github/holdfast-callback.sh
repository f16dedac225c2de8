#!/bin/sh
# Reports from a CI run to Holdfast: POSIX sh, curl and openssl are all it needs.
#
#   holdfast-callback.sh start                        the run has begun; the first run of an attempt to say so owns it
#   holdfast-callback.sh beat [SECONDS [PID]] &       a sign of life every SECONDS (60), until killed or refused; then PID gets SIGTERM
#   holdfast-callback.sh progress DONE [TOTAL [NOTE]]
#   holdfast-callback.sh finish [JSON]                the job is COMPLETED with this result
#   holdfast-callback.sh fail MESSAGE [STEP]          the job failed; its own retries decide what happens next
#
# HOLDFAST_CALLBACK_URL      where to report: the workflow's input callback_url (its end is the attempt's public token)
# HOLDFAST_CALLBACK_SECRET   the executor's secret, from: holdfast executor key NAME
# HOLDFAST_RUN_ID            what this run is called, so that two runs of one attempt are told apart
# HOLDFAST_RUN_URL           where people see it
# HOLDFAST_TRIES             how often to try while the network or the server is away (8)
#
# Exit codes: 0 accepted, 9 refused for good (the attempt is over or belongs to another run: stop), 75 not reached, 1 anything else.

set +x   # a trace would show the secret
set -u

CONFLICT=9
NOT_REACHED=75

say() {
  printf 'holdfast-callback: %s\n' "$1" >&2
}

usage() {
  say "$1"
  sed -n '4,8s/^# *//p' "$0" >&2
  exit 2
}

hex() {
  od -An -v -tx1 | tr -d ' \n'
}

# Reads the message on stdin. The key stands in the arguments for a moment: on a runner that is yours alone.
hmac() {
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$1" -binary
}

# Each part is preceded by its length, so that no two tokens make the same message.
counted() {
  printf '%s:%s' "${#1}" "$1"
}

attempt_key() {
  secret_hex=$(printf '%s' "$HOLDFAST_CALLBACK_SECRET" | hex)
  { counted 'holdfast callback v1'; counted "$job_id"; counted "$attempt"; counted "$claim_id"; } | hmac "$secret_hex" | hex
}

# A text as a JSON string: on one line, in valid UTF-8 (a cut may fall into a character), at most 2,000 bytes.
quoted() {
  flat=$(printf '%s' "$1" | tr '\000-\037\177' ' ')
  printf '%s\n' "$flat" | cut -b 1-2000 | as_utf8 | sed -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$/"/'
}

as_utf8() {
  if command -v iconv >/dev/null 2>&1; then
    iconv -c -f UTF-8 -t UTF-8
  else
    LC_ALL=C tr -d '\200-\377'
  fi
}

# body ACTION [MEMBERS]: what is signed says what is done, and for which attempt.
body() {
  printf '{"action":"%s","job_id":"%s","attempt":%s,"claim_id":"%s"' "$1" "$job_id" "$attempt" "$claim_id"
  [ -z "${HOLDFAST_RUN_ID:-}" ] || printf ',"run_id":%s' "$(quoted "$HOLDFAST_RUN_ID")"
  [ -z "${HOLDFAST_RUN_URL:-}" ] || printf ',"run_url":%s' "$(quoted "$HOLDFAST_RUN_URL")"
  printf '%s}' "${2:-}"
}

# report ACTION [MEMBERS]: sends one callback; every try has the same nonce and body, so that it counts once.
report() {
  nonce="cb_$(openssl rand -hex 16)"
  body "$@" >"$folder/body"
  pause=1
  tries=0
  while :; do
    tries=$((tries + 1))
    status=$(post)
    case $status in
      200)
        return 0
        ;;
      409)
        say "$1 was refused: $(cat "$folder/answer" 2>/dev/null)"
        return "$CONFLICT"
        ;;
      000 | 408 | 429 | 5??)
        if [ "$tries" -ge "${HOLDFAST_TRIES:-8}" ]; then
          say "$1 did not get through in $tries tries (last answer $status)"
          return "$NOT_REACHED"
        fi
        sleep "$pause"
        pause=$((pause * 2))
        [ "$pause" -le 30 ] || pause=30
        ;;
      401)
        say "$1 was not accepted (401): is HOLDFAST_CALLBACK_SECRET what \`holdfast executor key\` prints, and this machine's clock right?"
        return 1
        ;;
      *)
        say "$1 was not accepted ($status): $(cat "$folder/answer" 2>/dev/null)"
        return 1
        ;;
    esac
  done
}

# Signs and sends the body once; prints the status, 000 when nobody answered.
post() {
  timestamp=$(date +%s)
  signature=$({ printf '%s.%s.' "$nonce" "$timestamp"; cat "$folder/body"; } | hmac "$key" | openssl base64 -A)
  curl --silent --show-error --proto '=https,http' --connect-timeout 10 --max-time 20 \
    --output "$folder/answer" --write-out '%{http_code}' \
    --header 'Content-Type: application/json' \
    --header "webhook-id: $nonce" \
    --header "webhook-timestamp: $timestamp" \
    --header "webhook-signature: v1,$signature" \
    --data-binary "@$folder/body" \
    "$HOLDFAST_CALLBACK_URL" 2>"$folder/problem" || true
}

beat() {
  seconds=${1:-60}
  guarded=${2:-}
  while :; do
    sleep "$seconds" &
    wait "$!"
    if [ -n "$guarded" ] && ! kill -0 "$guarded" 2>/dev/null; then
      return 0   # what it spoke for is gone
    fi
    report heartbeat
    code=$?
    # A server that is away for a while is no reason to fall silent.
    if [ "$code" -ne 0 ] && [ "$code" -ne "$NOT_REACHED" ]; then
      [ -z "$guarded" ] || kill "$guarded" 2>/dev/null
      return "$code"
    fi
  done
}

is_number() {
  case $1 in
    '' | *[!0-9.]* | *.*.* | .* | *.) return 1 ;;
  esac
}

[ $# -ge 1 ] || usage 'say what to report'
command=$1
shift

[ -n "${HOLDFAST_CALLBACK_URL:-}" ] || usage 'HOLDFAST_CALLBACK_URL is not set'
[ -n "${HOLDFAST_CALLBACK_SECRET:-}" ] || usage 'HOLDFAST_CALLBACK_SECRET is not set'

rest=${HOLDFAST_CALLBACK_URL%/}
claim_id=${rest##*/}
rest=${rest%/*}
attempt=${rest##*/}
rest=${rest%/*}
job_id=${rest##*/}

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' TERM INT HUP
key=$(attempt_key)

case $command in
  start)
    report started
    ;;
  beat)
    beat "$@"
    ;;
  progress)
    is_number "${1:-}" || usage 'progress needs a number'
    members=",\"done\":$1"
    if [ -n "${2:-}" ]; then
      is_number "$2" || usage 'the total is no number'
      members="$members,\"total\":$2"
    fi
    [ -z "${3:-}" ] || members="$members,\"note\":$(quoted "$3")"
    report progress "$members"
    ;;
  finish)
    report completed "${1:+,\"result\":$1}"
    ;;
  fail)
    members=",\"message\":$(quoted "${1:-the run failed}")"
    [ -z "${2:-}" ] || members="$members,\"step\":$(quoted "$2")"
    report failed "$members"
    ;;
  *)
    usage "$command is not something to report"
    ;;
esac
