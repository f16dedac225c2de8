"""Messages as people and programs get them: composed from what the database tells, with nothing in a header that could begin another."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.domain.errors import BadInput

LONGEST_SUBJECT = 200
LONGEST_BODY = 65_536

# The same in holdfast.is_address: what every mail server takes, and nothing that could begin another header.
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@(?:{_LABEL}\.)+{_LABEL}")
_LONGEST_ADDRESS = 254
_UNDER_WAY = {"opened": "", "resolved": "resolved: "}


@dataclass(frozen=True, slots=True)
class Message:
    """What a channel sends. The id is the same in every attempt: receivers know a repeat by it."""

    id: str
    kind: str
    subject: str
    text: str
    is_urgent: bool
    created_at: str
    recipient: str | None
    data: Mapping[str, Any]


def is_address(text: str) -> bool:
    """Whether this is an e-mail address and nothing else."""
    return len(text) <= _LONGEST_ADDRESS and _ADDRESS.fullmatch(text) is not None


def one_line(what: str, text: Any, longest: int = LONGEST_SUBJECT) -> str:
    """Give a header's text back, or refuse what is no single line: a line break in a header begins another header."""
    if not isinstance(text, str) or not text.strip():
        raise BadInput(f"{what} is empty: give a line of text")
    if not all(character.isprintable() for character in text):
        raise BadInput(f"{what} has a line break or another control character: it must be one line")
    if len(text) > longest:
        raise BadInput(f"{what} has {len(text)} characters; at most {longest} fit")
    return text


def body_text(text: Any) -> str:
    """Give a message's text back, or say why it cannot be sent."""
    if not isinstance(text, str) or not text:
        raise BadInput("a message needs a text")
    if "\0" in text or len(text.encode("utf-8", "surrogatepass")) > LONGEST_BODY:
        raise BadInput(f"a message's text has at most {LONGEST_BODY:,} bytes and no NUL")
    return text


def shown_line(text: str, longest: int = LONGEST_SUBJECT) -> str:
    """Make a single line of what somebody else named: names of tasks and queues may have anything in them."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return line if len(line) <= longest else line[: longest - 1] + "…"


def compose(told: Mapping[str, Any], link: str | None) -> Message:
    """Write the message of a notification; `link` is where an approver decides."""
    match told["kind"]:
        case "approval":
            subject, text, data = _asking(told["approval"], link or "")
        case "opened" | "resolved":
            subject, text, data = _alerting(told["kind"], told["alert"])
        case _:
            subject, text, data = told["subject"], told["body"], {}
    return Message(
        id=told["id"],
        kind=told["kind"],
        subject=shown_line(subject),
        text=text,
        is_urgent=told["priority"] >= 50,  # noqa: PLR2004 - high
        created_at=told["created_at"],
        recipient=told["recipient"],
        data=data,
    )


def _alerting(kind: str, alert: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    subject = f"[{alert['severity']}] {_UNDER_WAY[kind]}{alert['rule']}: {alert['message']}"
    lines = [
        alert["message"] + ".",
        "",
        f"Rule: {alert['rule']} ({alert['severity']})",
        f"Since: {alert['opened_at']}",
        *([f"Until: {alert['closed_at']}"] if alert["closed_at"] else []),
        *([f"Job: {alert['job_id']}"] if alert["job_id"] else []),
        "",
        f"holdfast alert show {alert['id']}",
    ]
    names = ("id", "rule", "about", "severity", "message", "job_id", "count", "opened_at", "closed_at")
    return subject, "\n".join(lines), {name: alert[name] for name in names}


def _asking(approval: Mapping[str, Any], link: str) -> tuple[str, str, dict[str, Any]]:
    facts = [
        f"  {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in approval["facts"].items()
    ]
    expiry = [f"It expires at {approval['expires_at']}."] if approval["expires_at"] else []
    lines = [
        approval["question"], "", *facts, *([""] if facts else []),
        "Decide here; the link is yours alone and works once:", link, "", *expiry,
        f"Approval {approval['name']} of job {approval['job_id']}.",
    ]  # fmt: skip
    return f"Approval needed: {approval['question']}", "\n".join(lines), {}
