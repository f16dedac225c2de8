"""What may stand in the JSON that jobs keep: the limits, and where in a text one of them is broken.

The text is read, never rewritten: two writings of one value stay two writings.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from holdfast.domain.errors import BadPayload

MAX_BYTES = 262_144
MAX_DEPTH = 64
MAX_DIGITS = 1_000

JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"

_SURROGATE = re.compile("[\ud800-\udfff]")
_LONG_NUMBER = re.compile(rb"(?:^|[:\[,])-?[0-9.]{%d}" % MAX_DIGITS)
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKETS_ONLY = bytes.maketrans(b"{}", b"[]"), bytes(set(range(256)) - set(b"[]{}"))
_TOO_DEEP = f"is nested deeper than {MAX_DEPTH} levels"
# A secret where no annotation says so would be stored, and shown to everybody.
NOT_SAID = "is a secret, and its annotation does not say so: annotate the parameter, e.g. as SecretStr, to have it kept and hidden"
_SHOWN_PARTS = 10
_SHOWN_TEXT = 60


class Fault(Exception):
    """One value that breaks a rule; every container it stands in adds its part of the path on the way up."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.inside_out: list[str | int] = []

    def within(self, part: str | int) -> "Fault":
        """Return the fault, now known to lie under `part`."""
        self.inside_out.append(part)
        return self

    @property
    def path(self) -> list[str | int]:
        """The way from the outermost container to the value."""
        return self.inside_out[::-1]

    def refusal(self, subject: str = "payload", root: object = None) -> BadPayload:
        """Return the error for the caller; with the outermost value at hand, a cycle is called one."""
        path, what = self.path, self.what
        if what == _TOO_DEEP and root is not None and (cycle := _path_of_cycle(root, path)) is not None:
            path, what = cycle, "contains itself, which JSON cannot hold"
        return BadPayload(f"{path_text(path) or subject}: {what}")


@dataclass(frozen=True, slots=True)
class _Unfit:
    """Stands in for a number the parser met and nobody should keep, until the walk knows where it is."""

    what: str


def step(value: object, part: str | int) -> object:
    """Return what stands under `part`; raises LookupError or AttributeError where nothing does."""
    if isinstance(value, Mapping):
        return value[part]
    if isinstance(value, list | tuple) and isinstance(part, int):
        return value[part]
    return getattr(value, str(part))


def _path_of_cycle(root: object, path: list[str | int]) -> list[str | int] | None:
    """Return the path to the first value that is its own ancestor."""
    seen, value = {id(root)}, root
    for length, part in enumerate(path, start=1):
        value = step(value, part)
        if id(value) in seen and not isinstance(value, str | int | float | None):
            return path[:length]
        seen.add(id(value))
    return None


def path_text(parts: Sequence[str | int]) -> str:
    """Write a path the way Python would: `order.items[3].price`."""
    if len(parts) > _SHOWN_PARTS:
        parts = [*parts[: _SHOWN_PARTS - 1], "…"]
    return "".join(_part_text(part) for part in parts).removeprefix(".")


def _part_text(part: str | int) -> str:
    if isinstance(part, str) and (part.isidentifier() or part == "…"):
        return f".{part}"
    return f"[{part}]" if isinstance(part, int) else f"[{shown(part)}]"


def shown(value: object) -> str:
    """Write a value for an error message, on one line and never long."""
    try:
        text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    except Exception:  # noqa: BLE001 - a broken __repr__ must not hide the error being reported
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}…"


def check_text(text: str) -> None:
    """Refuse the two things a Python string can hold and PostgreSQL's text cannot."""
    if "\x00" in text:
        raise Fault(f"contains the character \\u0000, which PostgreSQL cannot store: {shown(text)}")
    if _SURROGATE.search(text):
        raise Fault(f"contains half of a surrogate pair, which is not text: {shown(text)}")


def check_key(key: str) -> None:
    """Refuse a key that is not storable text, naming it as a key."""
    try:
        check_text(key)
    except Fault as fault:
        fault.what = f"a key {fault.what}"
        raise


def check_size(text: bytes, subject: str = "payload", most: int = MAX_BYTES) -> None:
    """Refuse more JSON than there is room for, 256 KiB unless told otherwise."""
    if len(text) > most:
        raise BadPayload(
            f"{subject}: is {len(text):,} bytes of JSON, more than the {most:,} allowed; "
            "store the data elsewhere and pass a reference"
        )


def check_written(text: bytes, subject: str = "payload", most: int = MAX_BYTES) -> None:
    """Check JSON that our own serializer wrote; cheap for text that cannot be at fault."""
    # A number or a nesting over its limit needs more bytes than these, so most payloads cost one search.
    if b"\\u0000" in text or len(text) > 2 * MAX_DEPTH:
        check_size(text, subject, most)
        if b"\\u0000" in text or is_too_deep(text) or _has_long_number(text):
            check_parsed(text.decode(), subject)


def is_too_deep(text: bytes) -> bool:
    """Tell whether brackets nest deeper than the limit, without building what they hold."""
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _STRING.sub(b"", text).translate(*_BRACKETS_ONLY)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)


def _has_long_number(text: bytes) -> bool:
    return len(text) > MAX_DIGITS and _LONG_NUMBER.search(text) is not None


def check_parsed(text: str, subject: str = "payload") -> Any:
    """Parse JSON strictly and refuse, with its place, whatever jsonb or a later reader could not hold."""
    try:
        value = json.loads(
            text,
            parse_int=_integer,
            parse_float=_decimal,
            parse_constant=_constant,
            object_pairs_hook=_object,
        )
        check_plain(value)
    except Fault as fault:
        raise fault.refusal(subject) from None
    except RecursionError:
        raise BadPayload(f"{subject}: {_TOO_DEEP}") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise BadPayload(f"{subject}: is not valid JSON: {error.msg} at {place}") from None
    return value


def check_json_object(text: str | bytes, subject: str = "payload") -> str:
    """Return a JSON object somebody typed or sent, as text, or say what is wrong with it and where."""
    written = _as_text(text, subject)
    check_size(written.encode("utf-8", "surrogatepass"), subject)
    if not written.strip():
        raise BadPayload(f"{subject}: is empty; write a JSON object such as {{}}")
    value = check_parsed(written, subject)
    if not isinstance(value, dict):
        raise BadPayload(f"{subject}: expected a JSON object such as {{}}, got {shown(value)}")
    return written


def _as_text(text: str | bytes, subject: str) -> str:
    try:
        # Files written on Windows begin with a byte order mark, which is no part of the JSON.
        return (text.decode() if isinstance(text, bytes) else text).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise BadPayload(f"{subject}: is not UTF-8 text, at byte {error.start}") from None


def check_plain(value: object, depth: int = 0) -> None:
    """Refuse whatever is not JSON as it stands, so that it comes back as what it was."""
    match value:
        case None | bool() | int():  # a number of too many digits shows in the text
            return
        case str():
            check_text(value)
        case float():
            check_finite(value)
        case dict():
            _check_object(value, depth + 1)
        case list() | tuple():
            _check_array(value, depth + 1)
        case _Unfit():
            raise Fault(value.what)
        case _:
            raise Fault(_not_plain(value))


def _check_object(value: dict[object, object], depth: int) -> None:
    check_depth(depth)
    for key, item in value.items():
        if not isinstance(key, str):
            raise Fault(
                f"has the key {shown(key)}; a JSON object's keys are text (annotate e.g. dict[int, …])"
            )
        check_key(key)
        try:
            check_plain(item, depth)
        except Fault as fault:
            raise fault.within(key) from None


def _check_array(value: Sequence[object], depth: int) -> None:
    check_depth(depth)
    place = 0
    try:
        for place, item in enumerate(value):  # noqa: B007 - the handler reads it
            check_plain(item, depth)
    except Fault as fault:
        raise fault.within(place) from None


def check_depth(depth: int) -> None:
    """Refuse deeper nesting than 64 levels; something that contains itself ends here too."""
    if depth > MAX_DEPTH:
        raise Fault(_TOO_DEEP)


def check_finite(value: float) -> None:
    """Refuse NaN and the infinities."""
    if value - value != 0:
        raise Fault(f"is {value}, which JSON cannot hold")


def _not_plain(value: object) -> str:
    kind = type(value).__name__
    if hasattr(value, "get_secret_value"):
        return NOT_SAID
    if isinstance(value, bytes | bytearray | memoryview):
        return f"is {kind}, which JSON cannot hold; pass base64 text"
    if isinstance(value, set | frozenset):
        return "is a set, which JSON cannot hold; pass a list, or annotate the parameter as set[…]"
    return f"is a {kind}, which is not plain JSON; annotate the parameter with its type to have it stored and restored"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        # jsonb would keep the last one silently.
        raise Fault(f"has the key {shown(twice)} twice in one object")
    return result


def _integer(text: str) -> object:
    digits = len(text.lstrip("-"))
    return int(text) if digits <= MAX_DIGITS else _too_long(digits)


def _decimal(text: str) -> object:
    digits = sum(map(str.isdigit, text))
    if digits > MAX_DIGITS:
        return _too_long(digits)
    value = float(text)
    if value - value != 0 or (value == 0 and re.match(r"-?[0.]*[1-9]", text)):
        return _Unfit(f"is {shown(text)}, outside what a number can hold; pass it as text")
    in_full = _digits_in_full(text)
    return value if in_full <= MAX_DIGITS else _too_long(in_full)


def _too_long(digits: int) -> _Unfit:
    return _Unfit(f"is a number of {digits:,} digits, more than the {MAX_DIGITS:,} allowed")


def _digits_in_full(text: str) -> int:
    """Count the digits of a number without its exponent, as jsonb writes it: of 0e-999 it writes every nought."""
    number, _, exponent = text.lower().partition("e")
    whole, _, fraction = number.lstrip("-").partition(".")
    power = int(exponent or 0)
    return max(len(whole) + power, 1) + max(len(fraction) - power, 0)


def _constant(text: str) -> object:
    return _Unfit(f"is {text}, which JSON cannot hold")
