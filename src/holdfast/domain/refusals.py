"""Pydantic's errors in plain words: what is wrong, and where."""

import json
import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, SchemaSerializer

from holdfast.domain.errors import BadPayload
from holdfast.domain.json_rules import Fault, check_plain, path_text, shown, step
from holdfast.domain.redaction import HIDDEN, is_hidden

_TOLD = 3
_EXPECTED = re.compile(r"Input should be (?:(?:an?|the) )?(?:valid )?(?P<what>.+)")
_LISTS_CHOICES = {"literal_error", "enum"}
_WORDS = {"dictionary": "object", "string": "text", "datetime or date": "datetime"}
_KINDS = {"uuid_type": "a UUID", "finite_number": "a finite number", "json_type": "plain JSON"}
_MISSING = {
    "missing",
    "missing_argument",
    "missing_keyword_only_argument",
    "missing_positional_only_argument",
}
_UNEXPECTED = {"extra_forbidden", "unexpected_keyword_argument"}


def invalid(error: ValidationError, given: object, subject: str, hidden: Sequence[str] = ()) -> BadPayload:
    """Return the refusal of values that are not what the annotations say; what the paths hide is not repeated."""
    problems = error.errors(include_url=False)
    told = [_problem(one, given, subject, hidden) for one in problems[:_TOLD]]
    if len(problems) > _TOLD:
        told.append(f"and {len(problems) - _TOLD} more")
    return BadPayload("; ".join(told))


def unwritable(serializer: SchemaSerializer, value: object, error: Exception, subject: str) -> BadPayload:
    """Return the refusal of a value that the serializer could not write, with its place where it can be found."""
    try:
        check_plain(serializer.to_python(value, mode="json", round_trip=True, warnings=False))
    except Fault as fault:
        return fault.refusal(subject)
    except ValueError:  # the same trouble again: no place is known
        pass
    reason = (
        str(error).removeprefix("Error serializing to JSON: ").removeprefix("Pydantic serializer warnings:")
    )
    return BadPayload(f"{subject}: cannot be written as JSON: {' '.join(reason.split())}")


def _problem(problem: ErrorDetails, given: object, subject: str, hidden: Sequence[str]) -> str:
    if problem["type"] == "json_invalid":
        reason = problem["msg"].removeprefix("Invalid JSON: ")
        return f"{subject}: is not valid JSON: {reason}"
    path = _real_path(problem, given)
    where = path_text(path)
    if is_hidden(path, hidden):
        return f"{where or subject}: {_what_of_hidden(problem, subject, where)}"
    return f"{where or subject}: {_what(problem, subject, where, shown(problem['input']))}"


def _what_of_hidden(problem: ErrorDetails, subject: str, where: str) -> str:
    if problem["type"] in _MISSING | _UNEXPECTED or _EXPECTED.fullmatch(problem["msg"]):
        return _what(problem, subject, where, HIDDEN)
    return f"is not what its annotation asks for, got {HIDDEN}"  # others' words may repeat it


def _what(problem: ErrorDetails, subject: str, where: str, given: str) -> str:
    kind, message = problem["type"], problem["msg"]
    if kind in _MISSING:
        return "is missing"
    if kind in _UNEXPECTED:
        return (
            f"is no parameter of {subject}"
            if "." not in where and "[" not in where
            else "is not expected here"
        )
    if kind == "recursion_loop":
        return "contains itself, which JSON cannot hold"
    if kind in _KINDS:
        return f"expected {_KINDS[kind]}, got {given}"
    if match := _EXPECTED.fullmatch(message):
        expected = match["what"] if kind in _LISTS_CHOICES else _simple(match["what"])
        return f"expected {expected}, got {given}"
    return f"{message.removeprefix('Value error, ')}, got {given}"


def _simple(what: str) -> str:
    """Return the expectation without its footnote, with an article, in the words users know."""
    word = what.split(",", maxsplit=1)[0]
    word = _WORDS.get(word, word)
    if not word[0].isalpha() or " " in word or word == "text":
        return word
    return f"{'an' if word[0] in 'aeio' else 'a'} {word}"


def _real_path(problem: ErrorDetails, given: object) -> list[str | int]:
    """Drop the parts of pydantic's location that name a union's member instead of a place in the value."""
    path: list[str | int] = []
    value: Any = given
    for part in problem["loc"]:
        try:
            value = step(value, part)
        except (LookupError, TypeError, AttributeError):
            continue
        path.append(part)
    if problem["type"] in _MISSING:
        path.append(problem["loc"][-1])
    return path


def parsed(text: str | bytes) -> object:
    """Return what a JSON text holds, for telling where it is wrong; nothing if it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
