"""What no payload may hold, and how the caller is told."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Generic, TypeVar
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, JsonValue, SecretStr
from typing_extensions import TypedDict, Unpack

from holdfast.domain.errors import BadInput, BadPayload, HoldfastError
from holdfast.domain.payload import MAX_BYTES, PayloadCodec, decode_result, encode_result

T = TypeVar("T")
NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001 - what is refused


class Item(BaseModel):
    price: Decimal = Decimal(1)
    count: int = 1
    ratio: float = 1.0


class Order(BaseModel):
    items: list[Item]
    placed_at: datetime = datetime(2026, 1, 1, tzinfo=UTC)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


@dataclass
class Visit:
    at: datetime
    note: str = ""


class Stay(TypedDict):
    since: datetime


class Node(BaseModel):
    name: str = ""
    children: "list[Node]" = []


@dataclass
class Login:
    password: SecretStr


@dataclass
class Box(Generic[T]):
    content: T


class Opaque:
    pass


def named(part: object) -> str:
    """A test's id: values here are long, unprintable or both."""
    return getattr(part, "__name__", type(part).__name__)


def codec_for(annotation: Any) -> PayloadCodec:
    def task(value: Any, other: int = 0) -> None: ...

    task.__annotations__["value"] = annotation
    return PayloadCodec.of(task)


def refusal(annotation: Any, value: object) -> str:
    with pytest.raises(BadPayload) as caught:
        codec_for(annotation).encode((value,), {})
    return str(caught.value)


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def tower(depth: int) -> Node:
    node = Node()
    for _ in range(depth):
        node = Node(children=[node])
    return node


def order_with(**changes: Any) -> Order:
    """An order whose third item was changed behind pydantic's back."""
    order = Order(items=[Item(), Item(), Item()])
    order.items[2] = Item.model_construct(**changes)
    return order


def test_a_refusal_is_ours_and_a_value_error() -> None:
    assert issubclass(BadPayload, HoldfastError)
    assert issubclass(BadPayload, ValueError)


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (float, math.nan, "value: is nan, which JSON cannot hold"),
        (float, -math.inf, "value: is -inf, which JSON cannot hold"),
        (list[float], [1.0, math.inf], "value[1]: is inf, which JSON cannot hold"),
        (float | None, math.nan, "value: is nan, which JSON cannot hold"),
        (Any, {"a": [1, math.nan]}, "value.a[1]: is nan, which JSON cannot hold"),
        (dict[str, Any], {"a": [1, math.nan]}, "value.a[1]: is nan, which JSON cannot hold"),
        (dict[str, float], {"a b": math.nan}, "value['a b']: is nan, which JSON cannot hold"),
        (dict[float, int], {math.nan: 1}, "value.nan: is nan, which JSON cannot hold"),
        (Box[float], Box(math.nan), "value.content: is nan, which JSON cannot hold"),
        (Order, order_with(ratio=math.nan), "value.items[2].ratio: is nan, which JSON cannot hold"),
        (Order, order_with(price=Decimal("NaN")), "value.items[2].price: is NaN, which JSON cannot hold"),
        (Decimal, Decimal("NaN"), "value: expected a finite number, got Decimal('NaN')"),
        (Open, Open.model_validate({"a": math.nan}), "value.a: is nan, which JSON cannot hold"),
    ],
    ids=named,
)
def test_a_number_that_is_none_is_refused(annotation: Any, value: object, message: str) -> None:
    assert refusal(annotation, value) == message


@pytest.mark.parametrize(
    ("annotation", "value", "where"),
    [
        (str, "a\x00b", "value"),
        (Any, {"a": ["\x00"]}, "value.a[0]"),
        (dict[str, int], {"\x00": 1}, "value"),
        (Any, {"a": {"\x00": 1}}, "value.a"),
        (Visit, Visit(datetime(2026, 1, 1, tzinfo=UTC), "\x00"), "value.note"),
    ],
    ids=named,
)
def test_the_character_nul_is_refused(annotation: Any, value: object, where: str) -> None:
    message = refusal(annotation, value)

    assert message.startswith(f"{where}: ")
    assert "contains the character \\u0000, which PostgreSQL cannot store" in message


def test_a_backslash_followed_by_u0000_is_no_nul() -> None:
    codec = codec_for(str)

    assert codec.decode(codec.encode(("\\u0000",), {}))["value"] == "\\u0000"


@pytest.mark.parametrize(
    ("annotation", "value", "where"),
    [
        (str, "\ud800", "value"),
        (list[str], ["a", "\udfff"], "value[1]"),
        (Any, {"a": "\ud800"}, "value.a"),
        (Any, {"\ud800": 1}, "value"),
        (Visit, Visit(datetime(2026, 1, 1, tzinfo=UTC), "\ud800"), "value.note"),
    ],
    ids=named,
)
def test_half_a_surrogate_pair_is_refused(annotation: Any, value: object, where: str) -> None:
    message = refusal(annotation, value)

    assert message.startswith(f"{where}: ")
    assert "half of a surrogate pair" in message
    message.encode()


@pytest.mark.parametrize(
    ("annotation", "value", "where"),
    [
        (datetime, NAIVE, "value"),
        (datetime, "2026-01-01T00:00:00", "value"),
        (datetime | None, NAIVE, "value"),
        (list[datetime], [datetime(2026, 1, 1, tzinfo=UTC), NAIVE], "value[1]"),
        (tuple[int, datetime], (1, NAIVE), "value[1]"),
        (dict[str, list[datetime]], {"a": [NAIVE]}, "value.a[0]"),
        (dict[datetime, int], {NAIVE: 1}, "value['2026-01-01 00:00:00']"),
        (Visit, Visit(NAIVE), "value.at"),
        (list[Visit | None], [None, Visit(NAIVE)], "value[1].at"),
        (Order, Order(items=[], placed_at=NAIVE), "value.placed_at"),
        (Stay, {"since": NAIVE}, "value.since"),
    ],
    ids=named,
)
def test_a_naive_datetime_is_refused_wherever_it_hides(annotation: Any, value: object, where: str) -> None:
    assert refusal(annotation, value).startswith(
        f"{where}: is the naive datetime 2026-01-01T00:00:00; give it"
    )


def test_an_offset_that_iso_cannot_write_is_refused_instead_of_moving_the_instant() -> None:
    odd = datetime(2026, 1, 1, tzinfo=timezone(timedelta(minutes=53, seconds=28)))

    assert "convert it with astimezone(UTC)" in refusal(datetime, odd)


def test_more_than_256_kib_is_refused_with_its_size() -> None:
    frame = len('{"value":""}')

    assert len(codec_for(str).encode(("x" * (MAX_BYTES - frame),), {})) == MAX_BYTES == 262_144
    assert refusal(str, "x" * (MAX_BYTES - frame + 1)).startswith(
        "payload: is 262,145 bytes of JSON, more than"
    )


def test_size_is_counted_in_bytes() -> None:
    assert "bytes of JSON" in refusal(str, "é" * (MAX_BYTES // 2))


@pytest.mark.parametrize(
    ("annotation", "value", "where"),
    [
        (int, 10**1000, "value"),
        (int, -(10**5000), "value"),
        (Any, {"a": 10**1000}, "value.a"),
        (Decimal, Decimal("1." + "1" * 1000), "value"),
        (Order, order_with(count=10**1000), "value.items[2].count"),
    ],
    ids=named,
)
def test_more_than_a_thousand_digits_are_refused(annotation: Any, value: object, where: str) -> None:
    message = refusal(annotation, value)

    assert message.startswith(f"{where}: is a number of ")
    assert "digits" in message


def test_text_of_many_digits_is_only_text() -> None:
    codec = codec_for(str)

    assert codec.decode(codec.encode(("1" * 2_000,), {}))["value"] == "1" * 2_000


@pytest.mark.parametrize(("annotation", "make"), [(Any, nested), (list[Any], nested), (JsonValue, nested)])
def test_deeper_than_64_levels_is_refused(annotation: Any, make: Any) -> None:
    codec_for(annotation).encode((make(63),), {})

    assert refusal(annotation, make(64)).endswith(": is nested deeper than 64 levels")


def test_a_deep_model_is_refused() -> None:
    codec_for(Node).encode((tower(30),), {})

    assert refusal(Node, tower(31)).endswith(": is nested deeper than 64 levels")


def test_many_brackets_that_do_not_nest_are_fine() -> None:
    value = [[["[[["]] for _ in range(500)]

    assert codec_for(Any).decode(codec_for(Any).encode((value,), {}))["value"] == value


def test_a_structure_that_contains_itself_is_called_that() -> None:
    value: dict[str, Any] = {"a": [1]}
    value["a"].append(value)

    assert refusal(Any, value) == "value.a[1]: contains itself, which JSON cannot hold"


def test_a_model_that_contains_itself_is_called_that() -> None:
    node = Node()
    node.children.append(Node(children=[node]))

    assert refusal(Node, node) == "value.children[0].children[0]: contains itself, which JSON cannot hold"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({1: 2}, "value: has the key 1; a JSON object's keys are text"),
        ({"a": {None: 2}}, "value.a: has the key None; a JSON object's keys are text"),
        ({1, 2}, "value: is a set, which JSON cannot hold; pass a list, or annotate the parameter as set[…]"),
        ([b"x"], "value[0]: is bytes, which JSON cannot hold; pass base64 text"),
        (UUID(int=1), "value: is a UUID, which is not plain JSON; annotate the parameter with its type"),
        (Opaque(), "value: is a Opaque, which is not plain JSON; annotate the parameter with its type"),
        (
            [SecretStr("x")],
            "value[0]: is a secret, and its annotation does not say so: annotate the parameter",
        ),
    ],
    ids=named,
)
def test_what_would_come_back_as_something_else_is_refused(value: object, message: str) -> None:
    assert refusal(Any, value).startswith(message)


def test_keys_of_an_untyped_dict_must_be_text() -> None:
    assert refusal(dict[Any, int], {1: 2}).startswith("value[1]: is a key that is not text")


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (int, "x", "value: expected an integer, got 'x'"),
        (int, 1.5, "value: expected an integer, got 1.5"),
        (str, 5, "value: expected text, got 5"),
        (bool, "perhaps", "value: expected a boolean, got 'perhaps'"),
        (UUID, "x", "value: expected a UUID, got 'x'"),
        (UUID, 5, "value: expected a UUID, got 5"),
        (list[int], 5, "value: expected a list, got 5"),
        (dict[str, int], 5, "value: expected an object, got 5"),
        (datetime, "soon", "value: expected a datetime, got 'soon'"),
        (list[int], [1, 2, 3, "x"], "value[3]: expected an integer, got 'x'"),
        (Order, {"items": [{}, {"price": "x"}]}, "value.items[1].price: expected a decimal, got 'x'"),
        (Order, {}, "value.items: is missing"),
        (Order | None, {"items": [{"count": "x"}]}, "value.items[0].count: expected an integer, got 'x'"),
        (
            list[int] | dict[str, int],
            "x",
            "value: expected a list, got 'x'; value: expected an object, got 'x'",
        ),
        (str, "x" * 10, None),
        (int, "x" * 100, f"value: expected an integer, got '{'x' * 59}…"),
    ],
    ids=named,
)
def test_a_wrong_type_is_told_in_plain_words(annotation: Any, value: object, message: str | None) -> None:
    if message is None:
        codec_for(annotation).encode((value,), {})
    else:
        assert refusal(annotation, value) == message


def test_only_the_first_few_problems_are_told() -> None:
    assert refusal(list[int], ["a"] * 10).endswith("value[2]: expected an integer, got 'a'; and 7 more")


def test_an_instance_changed_behind_pydantics_back_is_refused() -> None:
    assert "cannot be written as JSON" in refusal(Order, order_with(price="cheap"))


class TestCalls:
    def encode(self, *args: Any, **kwargs: Any) -> str:
        def task(a: int, b: int = 0) -> None: ...

        return PayloadCodec.of(task).encode(args, kwargs)

    def test_a_missing_argument_is_named(self) -> None:
        with pytest.raises(BadPayload, match=r"^a: is missing$"):
            self.encode(b=1)

    def test_an_unknown_argument_is_named(self) -> None:
        with pytest.raises(BadPayload, match=r"^c: is no parameter of .*task$"):
            self.encode(1, c=1)

    def test_too_many_arguments_are_counted(self) -> None:
        with pytest.raises(BadPayload, match=r"takes 2 positional arguments, but 3 were given"):
            self.encode(1, 2, 3)

    def test_an_argument_given_twice_is_named(self) -> None:
        with pytest.raises(BadPayload, match="a was given twice"):
            self.encode(1, a=1)

    def test_a_positional_only_argument_cannot_be_named(self) -> None:
        def task(a: int, /, **extra: Any) -> None: ...

        with pytest.raises(BadPayload, match="a can only be given by position"):
            PayloadCodec.of(task).encode((), {"a": 1})

    def test_extra_arguments_are_checked_too(self) -> None:
        def task(a: int, *, b: int = 0, **extra: Any) -> None: ...

        with pytest.raises(BadPayload, match=r"^c: is a set"):
            PayloadCodec.of(task).encode((1,), {"b": 1, "c": {1}})


class TestDefinitions:
    def refusal(self, function: Any) -> str:
        with pytest.raises(BadInput) as caught:
            PayloadCodec.of(function)
        return str(caught.value)

    def test_star_args_are_refused(self) -> None:
        def task(*values: int) -> None: ...

        assert "take a list instead: values: list[…]" in self.refusal(task)

    def test_bytes_are_refused_with_advice(self) -> None:
        def task(data: bytes | None) -> None: ...

        assert "data: is bytes, which JSON cannot hold; pass base64 text" in self.refusal(task)

    def test_a_secret_that_is_a_key_is_refused(self) -> None:
        def task(logins: dict[SecretStr, int]) -> None: ...

        assert "logins: has a secret as a key, and keys are shown" in self.refusal(task)

    def test_a_result_that_is_a_secret_is_refused(self) -> None:
        def task() -> SecretStr: ...  # type: ignore[empty-body]

        assert "is a secret, and results and steps are shown; keep it elsewhere" in self.refusal(task)

    def test_what_can_be_read_only_once_is_refused(self) -> None:
        def task(values: Iterable[int]) -> None: ...

        assert "annotate it as list[…]" in self.refusal(task)

    def test_a_type_without_any_json_is_refused(self) -> None:
        def task(value: Opaque) -> None: ...

        assert "pydantic knows no JSON for its types" in self.refusal(task)

    def test_an_annotation_nobody_defines_is_named(self) -> None:
        def task(value: "Nowhere") -> None: ...  # type: ignore[name-defined] # noqa: F821

        assert "names 'Nowhere'" in self.refusal(task)

    def test_a_class_whose_annotations_nobody_defines_is_named(self) -> None:
        @dataclass
        class Outer:
            inner: "Nowhere"  # type: ignore[name-defined] # noqa: F821

        def task(value: Outer) -> None: ...

        assert "value: is a Outer, whose annotations name 'Nowhere'" in self.refusal(task)

    def test_a_model_that_is_not_fully_defined_is_refused(self) -> None:
        class Outer(BaseModel):
            inner: "Nowhere"  # type: ignore[name-defined] # noqa: F821

        def task(value: Outer) -> None: ...

        assert "Nowhere" in self.refusal(task)

    def test_unpacked_keyword_arguments_are_refused(self) -> None:
        def task(**stay: Unpack[Stay]) -> None: ...

        assert "write its keys as parameters" in self.refusal(task)


class TestStored:
    """A payload may come from plain SQL: it is checked again when it is read."""

    @pytest.mark.parametrize(
        ("annotation", "text", "message"),
        [
            (int, '{"value": "x"}', "value: expected an integer, got 'x'"),
            (int, "{}", "value: is missing"),
            (int, '{"value": 1, "c": 2}', "c: is no parameter of codec_for.task"),
            (int, "[1]", "codec_for.task: expected an object, got [1]"),
            (
                datetime,
                '{"value": "2026-01-01T00:00:00"}',
                "value: is the naive datetime 2026-01-01T00:00:00",
            ),
            (Visit, '{"value": {"at": "2026-01-01T00:00:00"}}', "value.at: is the naive datetime"),
            (float, '{"value": 1e999}', "value: is inf, which JSON cannot hold"),
            (int, "{", "codec_for.task: is not valid JSON: "),
        ],
        ids=named,
    )
    def test_what_does_not_fit_is_refused(self, annotation: Any, text: str, message: str) -> None:
        with pytest.raises(BadPayload) as caught:
            codec_for(annotation).decode(text)

        assert str(caught.value).startswith(message)


class TestResults:
    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (math.nan, "result: is nan"),
            ({"a": [NAIVE]}, "result.a[0]: is the naive datetime"),
            ({NAIVE: 1}, "is the naive datetime"),
            (Visit(NAIVE), "result.at: is the naive datetime"),
            (order_with(ratio=math.nan), "result.items[2].ratio: is nan"),
            (Open.model_validate({"a": math.nan}), "result.a: is nan"),
            ([b"x"], "result[0]: is bytes"),
            ({"a": SecretStr("x")}, "result.a: is a secret, and results and steps are shown"),
            ("\x00", "contains the character \\u0000"),
            ("\ud800", "contains half of a surrogate pair"),
            (Opaque(), "result: cannot be written as JSON"),
            ("x" * MAX_BYTES, "result: is 262,146 bytes of JSON"),
            (10**1000, "is a number of 1,001 digits"),
            (nested(65), "is nested deeper than 64 levels"),
        ],
        ids=named,
    )
    def test_what_cannot_be_kept_is_refused(self, value: object, message: str) -> None:
        with pytest.raises(BadPayload) as caught:
            encode_result(value)

        assert message in str(caught.value)

    def test_a_result_that_contains_itself_is_called_that(self) -> None:
        value: list[Any] = []
        value.append(value)

        with pytest.raises(BadPayload, match=r"result\[0\]: contains itself"):
            encode_result(value)

    def test_a_stored_naive_datetime_is_refused(self) -> None:
        with pytest.raises(BadPayload, match="naive datetime"):
            decode_result('"2026-01-01T00:00:00"', datetime)
