"""Organisations, and how they say who they are: by a token that is shown once and kept as its digest."""

import hashlib
import secrets

from apps.org_jobs.app import app

ADD = "insert into org_jobs.organisation (id, token_digest, contact_limit) values (%s, %s, %s)"
FIND = "select o.id from org_jobs.organisation o where o.token_digest = %s"
SET_LIMIT = "update org_jobs.organisation set contact_limit = %s where id = %s"


def add_organisation(org_id: str, contact_limit: int = 1000) -> str:
    """Add an organisation; gives its token."""
    token = secrets.token_urlsafe(32)
    with app.transaction() as connection:
        connection.execute(ADD, [org_id, _digest(token), contact_limit])
    return token


def organisation_of(token: str) -> str | None:
    """Say whose token this is."""
    with app.transaction() as connection:
        row = connection.execute(FIND, [_digest(token)]).fetchone()
    return None if row is None else row[0]


def set_contact_limit(org_id: str, contact_limit: int) -> None:
    """Let an organisation have so many contacts."""
    with app.transaction() as connection:
        connection.execute(SET_LIMIT, [contact_limit, org_id])


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
