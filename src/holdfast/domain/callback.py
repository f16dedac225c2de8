"""A callback: what a run says about itself, and how it is answered. Read from bytes that a signature has vouched for."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeAlias, cast, get_args
from uuid import UUID

from holdfast.domain.errors import BadInput
from holdfast.domain.json_rules import check_json_object

Action: TypeAlias = Literal["started", "heartbeat", "progress", "completed", "failed"]
ACTIONS: frozenset[str] = frozenset(get_args(Action))

# What a run says in words of its own, which events, logs and lists repeat.
SAID: frozenset[str] = frozenset({"note", "type", "message", "step", "run_url"})

_LONGEST_ID = 200
_LONGEST_URL = 2000
_LONGEST_STEP = 300
_LONGEST_NOTE = 500
_LONGEST_MESSAGE = 4000

# What spec-1 workflows call their states, and what that means here. Repeating "provisioning" is their heartbeat.
_PLAIN_STATUS: dict[str, Action] = {"provisioning": "started", "running": "completed", "failed": "failed"}


class Answer(StrEnum):
    """How a callback with a valid signature is answered."""

    OK = "ok"
    NOT_FOUND = "not_found"
    NONCE_REUSED = "nonce_reused"
    STALE_ATTEMPT = "stale_attempt"
    OTHER_RUN = "other_run"
    ALREADY_OVER = "already_over"


@dataclass(frozen=True, slots=True)
class Token:
    """The public token of an attempt that was handed over: it travels in the callback URL and is no secret."""

    job_id: UUID
    attempt: int
    claim_id: UUID

    def __str__(self) -> str:
        return f"{self.job_id}.{self.attempt}.{self.claim_id}"

    @property
    def path(self) -> str:
        """The token as the end of a callback URL."""
        return f"{self.job_id}/{self.attempt}/{self.claim_id}"


@dataclass(frozen=True, slots=True)
class Callback:
    """One callback, read and checked."""

    token: Token
    action: Action
    nonce: str | None
    body_hash: bytes
    data: dict[str, Any]


class WrongToken(BadInput):
    """The signed body speaks for another attempt than the URL it was sent to."""


def read_token(job_id: str, attempt: str, claim_id: str) -> Token | None:
    """Read the token's parts; None when they are not written as they are written in a URL."""
    try:
        token = Token(UUID(job_id), int(attempt), UUID(claim_id))
    except ValueError:
        return None
    return token if token.path == f"{job_id}/{attempt}/{claim_id}" else None


def read_body(body: bytes, token: Token) -> tuple[Action, dict[str, Any]]:
    """Read a signed body: what is done, for which attempt, and the facts; what nobody asked for is left out."""
    told = _object(body)
    said = (told.get("job_id"), told.get("attempt"), told.get("claim_id"))
    if said != (str(token.job_id), token.attempt, str(token.claim_id)):
        raise WrongToken("the body is about another attempt than the URL")
    action = told.get("action")
    if action not in ACTIONS:
        raise BadInput(f"action is not one of {', '.join(sorted(ACTIONS))}")
    return cast("Action", action), _facts(cast("Action", action), told)


def read_plain_body(body: bytes, token: Token) -> tuple[Action, dict[str, Any]]:
    """Read the body of an older workflow: {job_id, status, workflow_run_id?, error?, failed_step?}."""
    told = _object(body)
    if told.get("job_id") != str(token.job_id):
        raise WrongToken("the body is about another job than the URL")
    action = _PLAIN_STATUS.get(str(told.get("status")))
    if action is None:
        raise BadInput(f"status is not one of {', '.join(_PLAIN_STATUS)}")
    run_id = told.get("workflow_run_id")
    renamed = {
        "run_id": None if run_id is None else str(run_id),
        "message": told.get("error"),
        "step": told.get("failed_step"),
        "result": told.get("result"),
    }
    return action, _facts(action, renamed)


def _object(body: bytes) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(check_json_object(body, "callback"))
    return told


def _facts(action: Action, told: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "run_id": _text(told, "run_id", _LONGEST_ID),
        "run_url": _url(told),
    }
    if action == "progress":
        facts |= {"done": _number(told, "done", required=True), "total": _number(told, "total")}
        facts["note"] = _text(told, "note", _LONGEST_NOTE, cut=True)
    elif action == "completed":
        facts["result"] = told.get("result")
    elif action == "failed":
        facts |= {
            "type": _text(told, "type", _LONGEST_ID, cut=True),
            "message": _text(told, "message", _LONGEST_MESSAGE, cut=True),
            "step": _text(told, "step", _LONGEST_STEP, cut=True),
            "recoverable": _truth(told, "recoverable"),
        }
    return {name: value for name, value in facts.items() if value is not None}


def _text(told: dict[str, Any], name: str, longest: int, *, cut: bool = False) -> str | None:
    value = told.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise BadInput(f"{name} is not a text")
    if len(value) > longest and not cut:
        raise BadInput(f"{name} has more than {longest} characters")
    return value[:longest]


def _url(told: dict[str, Any]) -> str | None:
    url = _text(told, "run_url", _LONGEST_URL)
    if url is not None and not url.startswith(("https://", "http://")):
        raise BadInput("run_url is not a web address")  # it becomes a link that people click
    return url


def _number(told: dict[str, Any], name: str, *, required: bool = False) -> float | None:
    value = told.get(name)
    if value is None and not required:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInput(f"{name} is not a number")
    return value


def _truth(told: dict[str, Any], name: str) -> bool | None:
    value = told.get(name)
    if value is not None and not isinstance(value, bool):
        raise BadInput(f"{name} is not true or false")
    return value
