"""Checks of typed values that pydantic does not make, compiled once from annotations.

A type that can hold nothing at fault compiles to None, and costs nothing when jobs are enqueued.
"""

import collections
import collections.abc
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from inspect import Parameter
from typing import (
    Any,
    ForwardRef,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
)

from pydantic import BaseModel, EncodedBytes
from typing_extensions import is_typeddict

from holdfast.domain.annotations import (
    BYTES,
    SECRETS,
    UNIONS,
    bare_type,
    field_types,
    has_fields,
    is_secret,
)
from holdfast.domain.json_rules import (
    MAX_DIGITS,
    NOT_SAID,
    Fault,
    check_depth,
    check_finite,
    check_plain,
    check_text,
    shown,
)

Check: TypeAlias = Callable[[Any, int], None]
"""Takes a value and how deep it stands; raises a Fault."""

_ANYTHING = (Any, object, Parameter.empty)
_LAZY = (
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Generator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncIterator,
    collections.abc.AsyncGenerator,
)
ARRAYS = (
    list,
    set,
    frozenset,
    tuple,
    collections.deque,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Set,
    collections.abc.MutableSet,
    collections.abc.Collection,
)
# Results and steps are shown to whoever may see the job, and what others make of them is not known to be a secret.
NOT_KEPT = "is a secret, and results and steps are shown; keep it elsewhere and return its name, or annotate str and redact= it"
_MINUTE = timedelta(minutes=1)


class ValueRules:
    """The checks of one codec: of values about to be stored, or of values just `restored` from JSON."""

    def __init__(self, *, restored: bool = False, secrets: bool = False) -> None:
        self._restored = restored
        self._secrets = secrets  # whether they may be stored: where it is known that they are hidden
        self._known: dict[Any, Check | None] = {}
        self.trusts_instances = False
        """Whether some type is taken as an instance that pydantic does not validate again."""

    def check_for(self, annotation: Any) -> Check | None:
        """Return the check for values of this type, or None where nothing can be wrong with one."""
        bare = bare_type(annotation)
        if any(bare is anything for anything in _ANYTHING):
            return None if self._restored else check_plain
        if is_secret(bare):
            return self._check_for_secret()
        _refuse_unstorable(annotation, bare)
        if type(bare).__name__ == "TypeAliasType":
            return self._check_for_recursive(bare, lambda: self.check_for(bare.__value__))
        if isinstance(bare, TypeVar | ForwardRef):
            return check_anything
        if get_origin(bare) in UNIONS:
            return _all_of(self.check_for(member) for member in get_args(bare))
        return self._check_for_class(bare, get_origin(bare) or bare)

    def _check_for_secret(self) -> Check | None:
        if not self._secrets:
            raise Fault(NOT_KEPT)
        return None if self._restored else _check_secret

    def _check_for_class(self, bare: Any, origin: Any) -> Check | None:
        if not isinstance(origin, type):
            return check_anything if type(origin).__name__ == "TypeAliasType" else None
        if (leaf := _leaf_check(origin)) is not None:
            return leaf
        if has_fields(origin):
            self.trusts_instances = True
            return self._check_for_recursive(bare, lambda: self._check_for_fields(origin))
        if issubclass(origin, Mapping):
            return self._check_for_mapping(bare)
        return self._check_for_array(bare, origin) if origin in ARRAYS else None

    def _check_for_recursive(self, name: Any, compile_it: Callable[[], Check | None]) -> Check | None:
        """Compile a type that may refer to itself: inside, it is known by a check that waits for the real one."""
        if name not in self._known:
            later = self._known[name] = _Later()
            later.check = compile_it()
            self._known[name] = later if later.used else later.check
        known = self._known[name]
        if isinstance(known, _Later):
            known.used = True
        return known

    def _check_for_array(self, bare: Any, origin: type) -> Check | None:
        members = [member for member in get_args(bare) if member is not Ellipsis] or [Any]
        check = _all_of(self.check_for(member) for member in members)
        if check is None:
            return None

        def check_array(value: Any, depth: int) -> None:
            if _is_a(value, origin) and not isinstance(value, str):
                _check_each(check, enumerate(value), depth + 1)

        return check_array

    def _check_for_mapping(self, bare: Any) -> Check | None:
        key_type, value_type = get_args(bare) or (Any, Any)
        check_key, check = self._check_for_key(key_type), self.check_for(value_type)
        if check_key is None and check is None:
            return None

        def check_mapping(value: Any, depth: int) -> None:
            if not isinstance(value, Mapping):
                return
            if check_key:
                _check_each(check_key, ((key, key) for key in value), depth)
            if check:
                _check_each(check, value.items(), depth + 1)

        return check_mapping

    def _check_for_key(self, key_type: Any) -> Check | None:
        if any(bare_type(key_type) is anything for anything in _ANYTHING):
            return None if self._restored else _check_key_is_text
        if is_secret(bare_type(key_type)):
            raise Fault("has a secret as a key, and keys are shown: make it a value")
        return self.check_for(key_type)

    def _check_for_fields(self, origin: type) -> Check | None:
        checks = self.checks_of(field_types(origin))
        extra = _takes_extra_fields(origin) and not self._restored
        if not checks and not extra:
            return None
        is_dict = is_typeddict(origin)

        def check_fields(value: Any, depth: int) -> None:
            if not _is_a(value, dict if is_dict else origin):
                return
            fields = value if is_dict else _Attributes(value)
            for name, check in checks.items():
                try:
                    check(fields.get(name), depth + 1)
                except Fault as fault:
                    raise fault.within(name) from None
            if extra:
                _check_each(check_plain, (value.__pydantic_extra__ or {}).items(), depth + 1)

        return check_fields

    def checks_of(self, hints: Mapping[str, Any]) -> dict[str, Check]:
        """Return the checks of named values, without those that need none."""
        checks = {}
        for name, hint in hints.items():
            try:
                check = self.check_for(hint)
            except Fault as fault:
                raise fault.within(name) from None
            if check is not None:
                checks[name] = check
        return checks


class _Later:
    """The check of a type that refers to itself, until it is compiled."""

    def __init__(self) -> None:
        self.check: Check | None = None
        self.used = False

    def __call__(self, value: Any, depth: int) -> None:
        check_depth(depth)
        if self.check is not None:
            self.check(value, depth)


class _Attributes:
    """An instance's fields, read like a dict's; one made without validation may lack some."""

    def __init__(self, instance: object) -> None:
        self._instance = instance

    def get(self, name: str) -> Any:
        return getattr(self._instance, name, None)


def check_anything(value: Any, depth: int = 0) -> None:
    """Check a value by what it is, where no annotation says what it will be."""
    check_depth(depth)
    if (leaf := _leaf_check(type(value))) is not None:
        leaf(value, depth)
    elif isinstance(value, BaseModel):
        _check_each(check_anything, iter(value), depth + 1)
    elif dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        _check_each(check_anything, ((field.name, getattr(value, field.name)) for field in fields), depth + 1)
    elif isinstance(value, Mapping):
        _check_each(check_anything, ((shown(key), key) for key in value), depth)
        _check_each(check_anything, value.items(), depth + 1)
    elif isinstance(value, ARRAYS) and not isinstance(value, str):
        _refuse_unstorable(type(value), type(value))
        _check_each(check_anything, enumerate(value), depth + 1)
    else:
        _refuse_unstorable(type(value), type(value))


def _check_each(check: Check, items: Iterable[tuple[Any, Any]], depth: int) -> None:
    for part, item in items:
        try:
            check(item, depth)
        except Fault as fault:
            raise fault.within(part if isinstance(part, int) else str(part)) from None


def _is_a(value: Any, kind: type) -> bool:
    return isinstance(value, kind)


def _all_of(checks: Iterable[Check | None]) -> Check | None:
    """Join the checks of a union's members; each ignores values that are not of its type."""
    real = [check for check in checks if check is not None]
    if len(real) <= 1:
        return real[0] if real else None

    def check_all(value: Any, depth: int) -> None:
        for check in real:
            check(value, depth)

    return check_all


def _refuse_unstorable(annotation: Any, bare: Any) -> None:
    origin = get_origin(bare) or bare
    if origin in _LAZY:
        raise Fault("is read once and lazily, so it cannot be stored; annotate it as list[…]")
    if not isinstance(origin, type):
        return
    if issubclass(origin, SECRETS):
        raise Fault(NOT_SAID)
    if issubclass(origin, BYTES) and not _is_encoded(annotation):
        raise Fault(
            f"is {origin.__name__}, which JSON cannot hold; pass base64 text (pydantic.Base64Bytes does it)"
        )


def _check_secret(value: Any, depth: int) -> None:
    """Check what a secret holds, without a word of it in what is said."""
    if not isinstance(value, SECRETS):
        return
    held = value.get_secret_value()
    try:
        if isinstance(held, bytes):
            check_text(held.decode())
        elif isinstance(held, str):
            check_text(held)
        else:
            check_anything(held, depth)
    except (Fault, UnicodeDecodeError):
        raise Fault(
            "is a secret that JSON cannot hold as it is (text without \\u0000, or bytes of UTF-8); pass base64 text"
        ) from None


def _is_encoded(annotation: Any) -> bool:
    return any(isinstance(note, EncodedBytes) for note in get_args(annotation)[1:])


def _leaf_check(kind: type) -> Check | None:
    if issubclass(kind, datetime):
        return _check_datetime
    if issubclass(kind, Decimal):
        return _check_decimal
    return _check_float if issubclass(kind, float) else None


def _check_float(value: Any, _depth: int) -> None:
    if isinstance(value, float):
        check_finite(value)


def _check_decimal(value: Any, _depth: int) -> None:
    if not isinstance(value, Decimal):
        return
    if not value.is_finite():
        raise Fault(f"is {value}, which JSON cannot hold")
    if len(value.as_tuple().digits) > MAX_DIGITS:
        raise Fault(f"is a number of more than {MAX_DIGITS:,} digits; pass it as text")


def _check_datetime(value: Any, _depth: int) -> None:
    if not isinstance(value, datetime):
        return
    offset = value.utcoffset()
    if offset is None:
        raise Fault(f"is the naive datetime {value.isoformat()}; give it a timezone, e.g. tzinfo=UTC")
    if offset % _MINUTE:
        # ISO 8601 writes offsets in minutes; pydantic would drop the seconds and so move the instant.
        raise Fault(f"has the offset {offset}, which ISO 8601 cannot write; convert it with astimezone(UTC)")


def _check_key_is_text(key: Any, _depth: int) -> None:
    if not isinstance(key, str):
        raise Fault(
            "is a key that is not text; annotate the parameter as e.g. dict[int, …] to have it restored"
        )


def _takes_extra_fields(origin: type) -> bool:
    return issubclass(origin, BaseModel) and origin.model_config.get("extra") == "allow"
