"""Arguments of pydantic's secret types: where they stand in a payload, and the JSON that carries them.

Pydantic writes `**********` for them, which no task could use. The payload carries the value; the places become a part of
what the task redacts, so that it is hidden wherever jobs are shown.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import AliasChoices, AliasPath, BaseModel, RootModel, Secret, SecretBytes, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from holdfast.domain.annotations import SECRETS, UNIONS, bare_type, field_types, has_fields, is_secret
from holdfast.domain.json_rules import NOT_SAID, Fault
from holdfast.domain.value_rules import ARRAYS

EVERY = "*"
MASK = b"**********"  # what pydantic writes for a secret
_MASKS = (MASK.decode(), "")  # and for one that is empty
_Path = tuple[str, ...]


def secret_paths(types: Mapping[str, Any]) -> list[str]:
    """Name the places of secrets among named values, as redact= would."""
    found = {
        (spelt, *inside)
        for name, annotation in types.items()
        for inside in _Walk(loops=True).paths(annotation, ())
        for spelt in _spellings(name, _noted(annotation))
    }
    return sorted(".".join(path) for path in found)


class _Walk:
    """A walk through types. No list of paths is long enough for what contains itself: where it comes to the same type again, all is hidden."""

    def __init__(self, *, loops: bool) -> None:
        self._loops = loops

    def paths(self, annotation: Any, above: tuple[Any, ...]) -> Iterator[_Path]:
        """Give the ways to the secrets inside a value of this type."""
        bare = bare_type(annotation)
        origin = get_origin(bare) or bare
        if is_secret(bare):
            yield ()
        elif type(origin).__name__ == "TypeAliasType":
            yield from self._inside(origin, above, self._of_alias(origin, get_args(bare), above))
        elif origin in UNIONS:
            for member in get_args(bare):
                yield from self.paths(member, above)
        elif not isinstance(origin, type):
            return
        elif has_fields(origin):
            yield from self._inside(origin, above, self._of_fields(origin, (*above, origin)))
        elif issubclass(origin, Mapping):
            yield from self._below(get_args(bare)[1:], above)
        elif origin in ARRAYS:
            yield from self._below(get_args(bare), above)

    def _inside(self, name: Any, above: tuple[Any, ...], ways: Iterator[_Path]) -> Iterator[_Path]:
        if name not in above:
            yield from ways
        elif self._loops and any(True for _ in _Walk(loops=False).paths(name, ())):
            yield ()

    def _of_alias(self, alias: Any, arguments: Sequence[Any], above: tuple[Any, ...]) -> Iterator[_Path]:
        for annotation in (alias.__value__, *arguments):
            yield from self.paths(annotation, (*above, alias))

    def _below(self, members: Iterable[Any], above: tuple[Any, ...]) -> Iterator[_Path]:
        for member in members:
            yield from ((EVERY, *inside) for inside in self.paths(member, above))

    def _of_fields(self, origin: type, above: tuple[Any, ...]) -> Iterator[_Path]:
        types = field_types(origin)
        if issubclass(origin, tuple):  # written without names
            yield from self._below(types.values(), above)
            return
        if issubclass(origin, RootModel):
            yield from self.paths(types["root"], above)
            return
        known = origin.model_fields if issubclass(origin, BaseModel) else {}
        for name, annotation in types.items():
            noted = [known[name]] if name in known else _noted(annotation)
            for inside in self.paths(annotation, above):
                yield from ((spelt, *inside) for spelt in _spellings(name, noted))


def _noted(annotation: Any) -> list[FieldInfo]:
    return [note for note in get_args(annotation)[1:] if isinstance(note, FieldInfo)]


def _spellings(name: str, fields: Iterable[FieldInfo]) -> set[str]:
    """Give all names under which a field may stand in JSON."""
    names = {name}
    for field in fields:
        for alias in (field.alias, field.validation_alias, field.serialization_alias):
            names |= _names_of(alias)
    # A dot separates names in paths: what has one in it is hidden with all its neighbours.
    return {EVERY if "." in each else each for each in names if each}


def _names_of(alias: str | AliasPath | AliasChoices | None) -> set[str]:
    match alias:
        case AliasChoices():
            return {name for choice in alias.choices for name in _names_of(choice)}
        case AliasPath():
            return {str(alias.path[0])}
        case str():
            return {alias}
        case _:
            return set()


def revealed(text: bytes, values: Mapping[str, Any], paths: Sequence[str]) -> bytes:
    """Put what secrets hold into the JSON that pydantic wrote; `values` are the same in Python, in which they still are secrets."""
    ways = [path.split(".") for path in paths]
    told = {name: _filled(one, values[name], (name,), ways) for name, one in json.loads(text).items()}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def _filled(written: Any, value: Any, at: _Path, ways: Sequence[Sequence[str]]) -> Any:
    match value:
        case SecretStr() | SecretBytes() | Secret():
            _refuse_unknown(at, ways)
            return _held(value) if written in _MASKS else written  # a serializer of the user's own wrote it
        case Mapping() if isinstance(written, dict) and len(written) == len(value):
            # In the same order; keys that were no text have become one.
            pairs = zip(written.items(), value.values(), strict=True)
            return {name: _filled(one, real, (*at, name), ways) for (name, one), real in pairs}
        case set() | frozenset() if any(isinstance(one, SECRETS) for one in value):
            _refuse_unknown((*at, EVERY), ways)
            if not all(isinstance(one, SECRETS) for one in value):  # sets have no order by which to find them
                raise _fault("has secrets and others in one set, which cannot be told apart; use a list", at)
            return [_held(one) for one in value]
        case list() | tuple() | deque() if isinstance(written, list) and len(written) == len(value):
            return [_filled(one, real, (*at, EVERY), ways) for one, real in zip(written, value, strict=True)]
        case _ if _holds_secret(value):
            raise _fault("is written in a form of its own, in which its secrets are not found", at)
        case _:
            return written


def _held(secret: Any) -> Any:
    held = secret.get_secret_value()
    return held.decode() if isinstance(held, bytes) else to_jsonable_python(held)


def _holds_secret(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_secret(one) for one in value.values())
    if isinstance(value, ARRAYS) and not isinstance(value, str):
        return any(_holds_secret(one) for one in value)
    return isinstance(value, SECRETS)


def _refuse_unknown(at: _Path, ways: Sequence[Sequence[str]]) -> None:
    """Refuse a secret at a place that nobody would hide."""
    if not any(_leads_to(way, at) for way in ways):
        raise _fault(NOT_SAID, at)


def _leads_to(way: Sequence[str], at: Sequence[str]) -> bool:
    """Whether a path hides what stands there, or something around it."""
    return len(way) <= len(at) and all(name in {EVERY, place} for name, place in zip(way, at, strict=False))


def _fault(what: str, at: _Path) -> Fault:
    fault = Fault(what)
    for part in reversed(at):
        fault.within(part)
    return fault
