"""Typed arguments and results to JSON text and back.

A payload is one JSON object: parameter name → value.
Only what the caller gave is stored; a parameter left out gets its default when the task runs, from the code that runs it.
What comes back equals what was given: Decimals and UUIDs travel as text, datetimes as ISO 8601 with their offset
(the zone's name is lost), tuples and sets as arrays where the annotation says so.
Values are converted as pydantic does by default, so `"5"` is a fine `int`; a float that is no whole number is not.
An unannotated parameter takes plain JSON only.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NotRequired, TypeAlias

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, SchemaSerializer
from typing_extensions import TypedDict

from holdfast.domain.errors import BadInput, BadPayload
from holdfast.domain.json_rules import (
    JSON,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_DIGITS,
    NOT_SAID,
    Fault,
    check_json_object,
    check_parsed,
    check_written,
)
from holdfast.domain.parameters import Parameters, read_parameters
from holdfast.domain.redaction import HIDDEN, is_hidden
from holdfast.domain.refusals import invalid, parsed, unwritable
from holdfast.domain.secret_values import EVERY, MASK, revealed, secret_paths
from holdfast.domain.value_rules import NOT_KEPT, Check, ValueRules, check_anything

__all__ = [
    "JSON",
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_DIGITS",
    "BadPayload",
    "PayloadCodec",
    "ResultCodec",
    "StepCodec",
    "check_json_object",
    "decode_result",
    "encode_result",
    "step_codec",
]

_Checks: TypeAlias = dict[str, Check]


class PayloadCodec:
    """Writes and reads the payloads of one task; build it once, from the task's signature."""

    __slots__ = (
        "_extra_check",
        "_hidden",
        "_in_checks",
        "_names",
        "_out_checks",
        "_positional",
        "_positional_only",
        "_redact",
        "_serializer",
        "_validator",
        "_warnings",
        "result",
        "secrets",
        "task",
    )

    def __init__(self, parameters: Parameters, redact: Sequence[str] = ()) -> None:
        self.task = parameters.task
        self.result = ResultCodec(parameters.returns, f"result of {parameters.task}")
        self._names = frozenset(parameters.types)
        self._positional = parameters.positional
        self._positional_only = parameters.positional_only
        outgoing = ValueRules(secrets=True)
        self._out_checks = _checks(outgoing, parameters)
        self._in_checks = _checks(ValueRules(restored=True, secrets=True), parameters)
        self._extra_check = outgoing.check_for(parameters.extra_type) if parameters.takes_extra else None
        # Collecting serializer warnings costs 1.2 µs; only instances that skip validation can cause one.
        self._warnings: Any = "error" if outgoing.trusts_instances else False
        adapter = _adapter(_payload_type(parameters), f"task {parameters.task}")
        self._validator, self._serializer = adapter.validator, adapter.serializer
        self.secrets: Sequence[str] = _secret_paths(parameters)
        """Where secrets stand in a payload, as paths of redact=."""
        self._redact = redact
        self._hidden = [*redact, *self.secrets]

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        *,
        context_type: type | None = None,
        localns: Mapping[str, Any] | None = None,
        redact: Sequence[str] = (),
    ) -> "PayloadCodec":
        """Build the codec for a task function; a first parameter annotated `context_type` is no part of it.

        What `redact` names, and what is a secret by its type, is not repeated in refusals.
        """
        return cls(read_parameters(function, context_type, localns or {}), redact)

    def encode(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Return the payload of a call, or say which argument cannot be stored and why."""
        given = self._bind(args, kwargs) if args or self._positional_only else kwargs
        try:
            values = self._validator.validate_python(given, by_alias=True, by_name=True)
        except ValidationError as error:
            raise invalid(error, given, self.task, self._hidden) from None
        if self._out_checks or self._extra_check:
            self._check(values)
        try:
            text = self._serializer.to_json(values, round_trip=True, warnings=self._warnings)
            if self.secrets or MASK in text:
                plain = self._serializer.to_python(values, round_trip=True, warnings=self._warnings)
                text = revealed(text, plain, self.secrets)
        except Fault as fault:
            raise fault.refusal() from None
        except (PydanticSerializationError, ValueError) as error:
            raise unwritable(self._serializer, values, error, self.task) from None
        check_written(text)
        return text.decode()

    def decode(self, text: str | bytes) -> dict[str, Any]:
        """Return a stored payload's arguments by name, typed as the signature says."""
        try:
            values: dict[str, Any] = self._validator.validate_json(text, by_alias=True, by_name=True)
        except ValidationError as error:
            raise invalid(error, parsed(text), self.task, self._hidden) from None
        if self._in_checks:
            _run(self._in_checks, values, self._redact)
        return values

    def arguments(self, values: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Split decoded values into what is passed by position and what by name."""
        if not self._positional_only:
            return (), values
        named = dict(values)
        given = [one.name in named for one in self._positional_only]
        last = len(given) - given[::-1].index(True) if any(given) else 0
        return tuple(named.pop(one.name, one.default) for one in self._positional_only[:last]), named

    def encode_result(self, value: object) -> str:
        """Return the JSON text of the task's return value."""
        return self.result.encode(value)

    def decode_result(self, text: str | bytes) -> Any:
        """Return a stored result, typed as the task's return annotation says."""
        return self.result.decode(text)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if len(args) > len(self._positional):
            takes = f"takes {len(self._positional)} positional arguments"
            raise BadPayload(f"{self.task}: {takes}, but {len(args)} were given")
        given = dict(zip(self._positional, args, strict=False))
        if kwargs:
            if twice := given.keys() & kwargs.keys():
                raise BadPayload(f"{self.task}: {min(twice)} was given twice, by position and by name")
            for one in self._positional_only:
                if one.name in kwargs:
                    raise BadPayload(f"{self.task}: {one.name} can only be given by position")
            given |= kwargs
        return given

    def _check(self, values: dict[str, Any]) -> None:
        _run(self._out_checks, values, self._redact)
        if self._extra_check is not None:
            _run(dict.fromkeys(values.keys() - self._names, self._extra_check), values, self._redact)


class ResultCodec:
    """Writes and reads return values of one annotation.

    A value that is not what the annotation promised is written as what it is: the work is done, and failing it for
    a wrong annotation would do it again.
    """

    __slots__ = ("_in_check", "_most", "_serializer", "_subject", "_validator")

    def __init__(self, annotation: Any = Any, subject: str = "result", most: int = MAX_BYTES) -> None:
        self._subject = subject
        self._most = most
        self._in_check = _result_check(annotation, subject)
        adapter = _adapter(annotation, subject)
        self._validator, self._serializer = adapter.validator, adapter.serializer

    def encode(self, value: object) -> str:
        """Return the JSON text of a return value, or say what in it cannot be stored."""
        if value is None:
            return "null"
        try:
            check_anything(value)
        except Fault as fault:
            fault.what = NOT_KEPT if fault.what is NOT_SAID else fault.what
            raise fault.within("result").refusal(root={"result": value}) from None
        text = self._write(value)
        check_written(text, self._subject, self._most)
        return text.decode()

    def decode(self, text: str | bytes) -> Any:
        """Return a stored result as its annotation's type, or as plain JSON where it was something else."""
        try:
            value = self._validator.validate_json(text, by_alias=True, by_name=True)
        except ValidationError:
            return check_parsed(text if isinstance(text, str) else text.decode(), self._subject)
        if self._in_check is not None:
            try:
                self._in_check(value, 0)
            except Fault as fault:
                raise fault.within("result").refusal() from None
        return value

    def _write(self, value: object) -> bytes:
        try:
            return self._serializer.to_json(value, round_trip=True, warnings="error")
        except (PydanticSerializationError, ValueError):
            plain = _anything()
        try:
            return plain.to_json(value, round_trip=True, warnings=False)
        except (PydanticSerializationError, ValueError) as error:
            raise unwritable(plain, value, error, self._subject) from None


def encode_result(value: object, annotation: Any = Any) -> str:
    """Return the JSON text of a return value of this annotation."""
    return _result_codec(annotation).encode(value)


def decode_result(text: str | bytes, annotation: Any = Any) -> Any:
    """Return a stored result of this annotation."""
    return _result_codec(annotation).decode(text)


@functools.lru_cache(maxsize=256)
def _result_codec(annotation: Any) -> ResultCodec:
    return ResultCodec(annotation)


STEP_BYTES = 1_048_576
StepCodec: TypeAlias = ResultCodec


def step_codec(annotation: Any) -> StepCodec:
    """Give the codec of a step's value; what pydantic knows no JSON for is taken as it is."""
    try:
        return _step_codec(annotation)
    except (BadInput, TypeError):  # TypeError: an annotation that cannot be a key of the cache
        return _step_codec(Any)


@functools.lru_cache(maxsize=1024)
def _step_codec(annotation: Any) -> StepCodec:
    return ResultCodec(annotation, "the step's value", STEP_BYTES)


@functools.cache
def _anything() -> SchemaSerializer:
    return _adapter(Any, "result").serializer


def _payload_type(parameters: Parameters) -> Any:
    """Return the TypedDict of a task's arguments; those with a default may be missing."""
    fields = {
        one.name: parameters.types[one.name]
        if one.default is one.empty
        else NotRequired[parameters.types[one.name]]
        for one in parameters.ordered
    }
    make: Any = TypedDict
    if parameters.takes_extra:
        return make("Payload", fields, extra_items=parameters.extra_type)
    return make("Payload", fields, closed=True)


def _adapter(annotation: Any, subject: str) -> TypeAdapter[Any]:
    try:
        adapter = TypeAdapter(annotation)
        # A type that is not fully defined would otherwise fail at the first enqueue.
        adapter.rebuild(raise_errors=True)
    except (PydanticSchemaGenerationError, PydanticUserError, NameError, TypeError) as error:
        raise BadInput(
            f"{subject}: pydantic knows no JSON for its types: {str(error).splitlines()[0]}"
        ) from error
    return adapter


def _checks(rules: ValueRules, parameters: Parameters) -> _Checks:
    try:
        return rules.checks_of(parameters.types)
    except Fault as fault:
        raise BadInput(f"task {parameters.task}: {fault.refusal()}") from None


def _result_check(annotation: Any, subject: str) -> Check | None:
    try:
        return ValueRules(restored=True).check_for(annotation)
    except Fault as fault:
        raise BadInput(f"{fault.refusal(subject)}") from None


def _secret_paths(parameters: Parameters) -> list[str]:
    extra = {EVERY: parameters.extra_type} if parameters.takes_extra else {}
    return secret_paths({**parameters.types, **extra})


def _run(checks: _Checks, values: dict[str, Any], hidden: Sequence[str]) -> None:
    for name, check in checks.items():
        if name in values:
            try:
                check(values[name], 1)
            except Fault as fault:
                fault.within(name)
                if is_hidden(fault.path, hidden):
                    fault.what = f"cannot be stored as what it is, which is {HIDDEN}"
                raise fault.refusal(root=values) from None
