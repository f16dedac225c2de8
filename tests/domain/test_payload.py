"""Typed arguments to JSON and back."""

import functools
import json
import math
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, NamedTuple, NewType, TypeVar
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, JsonValue, computed_field
from typing_extensions import TypedDict

from holdfast.domain.payload import PayloadCodec, decode_result, encode_result

if TYPE_CHECKING:
    from elsewhere import Context as TaskContext  # type: ignore[import-not-found]

T = TypeVar("T")
OrderId = NewType("OrderId", int)


class Colour(Enum):
    RED = "red"
    BLUE = 2


class Size(StrEnum):
    SMALL = "small"


class Item(BaseModel):
    price: Decimal
    count: int = 1


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")

    items: list[Item]
    placed_at: datetime
    customer: str = Field(alias="customerName")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def total(self) -> Decimal:
        return sum((item.price for item in self.items), Decimal())


@dataclass
class Point:
    x: float
    y: float
    tags: set[str] = field(default_factory=set)


class Address(TypedDict):
    street: str
    moved_in: date


class Pair(NamedTuple):
    left: int
    right: Decimal


class Tree(BaseModel):
    weight: float
    children: "list[Tree]" = []


@dataclass
class Box(Generic[T]):
    content: T


class Context:
    pass


def codec_for(annotation: Any) -> PayloadCodec:
    def task(value: Any) -> None: ...

    task.__annotations__["value"] = annotation
    return PayloadCodec.of(task)


def there_and_back(annotation: Any, value: object) -> Any:
    codec = codec_for(annotation)
    text = codec.encode((value,), {})
    json.loads(text, parse_constant=pytest.fail)
    return codec.decode(text)["value"]


EXAMPLES = [
    (str, "é\n\"'\\u0000"),
    (int, 10**999),
    (float, 1e308),
    (bool, True),
    (None, None),
    (Decimal, Decimal("0.10000000000000000000000000001")),
    (Decimal, Decimal("1E+5000")),
    (UUID, UUID(int=7)),
    (datetime, datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=timezone(timedelta(hours=5, minutes=30)))),
    (date, date(2026, 1, 2)),
    (time, time(3, 4)),
    (timedelta, timedelta(days=-3, microseconds=1)),
    (Colour, Colour.BLUE),
    (Size, Size.SMALL),
    (Literal["a", 1], 1),
    (OrderId, OrderId(4)),
    (Annotated[int, Field(gt=0)], 4),
    (str | None, None),
    (int | str, "4"),
    (list[UUID], [UUID(int=1), UUID(int=2)]),
    (set[int], {1, 2}),
    (frozenset[str], frozenset({"a"})),
    (tuple[int, Decimal], (1, Decimal("1.0"))),
    (tuple[Decimal, ...], (Decimal("1.0"), Decimal("2.0"))),
    (dict[int, Decimal], {1: Decimal("1.10")}),
    (dict[UUID, list[datetime]], {UUID(int=1): [datetime(2026, 1, 1, tzinfo=UTC)]}),
    (dict[str, Any], {"a": [1, 2.5, None, {"b": "c"}]}),
    (dict, {"a": 1}),
    (list, [1, "a"]),
    (Any, {"a": [1, 2.5, None, {"b": "c"}]}),
    (JsonValue, {"a": [1, 2.5, None, {"b": "c"}]}),
    (Point, Point(1.5, -2.0, {"a"})),
    (list[Point | None], [Point(0.0, 0.0), None]),
    (Item, Item(price=Decimal("1.10"))),
    (
        Order,
        Order(
            items=[Item(price=Decimal("1.10"))],
            placed_at=datetime(2026, 1, 1, tzinfo=UTC),
            customerName="Ada",
        ),
    ),
    (Address, {"street": "High Street", "moved_in": date(2020, 1, 1)}),
    (Pair, Pair(1, Decimal("2.50"))),
    (Tree, Tree(weight=1.0, children=[Tree(weight=2.0)])),
    (Box[Decimal], Box(Decimal("1.10"))),
]


@pytest.mark.parametrize(("annotation", "value"), EXAMPLES, ids=lambda part: getattr(part, "__name__", None))
def test_what_was_given_comes_back(annotation: Any, value: object) -> None:
    restored = there_and_back(annotation, value)

    assert restored == value
    assert type(restored) is type(value)


@pytest.mark.parametrize(("annotation", "value"), EXAMPLES, ids=lambda part: getattr(part, "__name__", None))
def test_a_result_comes_back_as_its_annotation_says(annotation: Any, value: object) -> None:
    assert decode_result(encode_result(value, annotation), annotation) == value


TEXT = st.text(st.characters(exclude_characters="\x00", codec="utf-8"))
NUMBERS = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=())), inner)
    ),
    max_leaves=10,
)
MINUTES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(PLAIN)
def test_plain_json_comes_back_as_it_was(value: object) -> None:
    assert there_and_back(Any, value) == value


@given(value=st.datetimes(timezones=MINUTES))
def test_every_aware_datetime_comes_back_as_the_same_instant(value: datetime) -> None:
    assert there_and_back(datetime, value) == value


@given(value=st.decimals(allow_nan=False, allow_infinity=False))
def test_every_decimal_comes_back_digit_by_digit(value: Decimal) -> None:
    assert str(there_and_back(Decimal, value)) == str(value)


@given(value=st.timedeltas())
def test_every_timedelta_comes_back(value: timedelta) -> None:
    assert there_and_back(timedelta, value) == value


@given(value=ANYTHING)
def test_what_is_accepted_is_strict_json_that_jsonb_can_hold(value: object) -> None:
    try:
        text = codec_for(Any).encode((value,), {})
    except ValueError:
        return

    assert json.loads(text, parse_constant=pytest.fail) == {"value": value}
    assert "\x00" not in json.dumps(json.loads(text), ensure_ascii=False).replace("\\u0000", "\x00").replace(
        "\\\\", ""
    )
    text.encode()


class TestSignature:
    def test_arguments_are_stored_by_name_however_they_were_given(self) -> None:
        def task(a: int, b: str, *, c: bool) -> None: ...

        text = PayloadCodec.of(task).encode((1,), {"b": "x", "c": True})

        assert json.loads(text) == {"a": 1, "b": "x", "c": True}

    def test_a_default_is_not_stored(self) -> None:
        def task(a: int, b: int = 5) -> None: ...

        assert PayloadCodec.of(task).encode((1,), {}) == '{"a":1}'

    def test_a_default_that_was_given_is_stored(self) -> None:
        def task(b: int = 5) -> None: ...

        assert PayloadCodec.of(task).encode((5,), {}) == '{"b":5}'

    def test_a_task_without_parameters_has_an_empty_payload(self) -> None:
        def task() -> None: ...

        assert PayloadCodec.of(task).encode((), {}) == "{}"

    def test_the_callers_own_dict_is_not_changed(self) -> None:
        def task(a: int, b: int) -> None: ...

        given = {"b": 2}
        PayloadCodec.of(task).encode((1,), given)

        assert given == {"b": 2}

    def test_values_are_converted_as_pydantic_does(self) -> None:
        assert there_and_back(int, "5") == 5

    def test_a_first_parameter_annotated_with_the_context_is_skipped(self) -> None:
        def task(context: Context, a: int) -> None: ...

        assert PayloadCodec.of(task, context_type=Context).encode((1,), {}) == '{"a":1}'

    def test_a_context_imported_for_the_type_checker_only_is_skipped(self) -> None:
        def task(context: "TaskContext", a: int) -> None: ...

        named = type("TaskContext", (), {})

        assert PayloadCodec.of(task, context_type=named).encode((1,), {}) == '{"a":1}'

    def test_a_context_anywhere_else_is_an_ordinary_parameter(self) -> None:
        def task(a: int, context: Point) -> None: ...

        assert "context" in PayloadCodec.of(task, context_type=Point).encode((1, Point(1, 2)), {})

    def test_annotations_written_as_text_are_resolved(self) -> None:
        def task(order: "Order | None") -> None: ...

        assert PayloadCodec.of(task).encode((None,), {}) == '{"order":null}'

    def test_names_of_the_caller_help_to_resolve_annotations(self) -> None:
        def task(order: "Local") -> None: ...  # type: ignore[name-defined] # noqa: F821

        assert PayloadCodec.of(task, localns={"Local": int}).encode((4,), {}) == '{"order":4}'

    def test_extra_keyword_arguments_are_plain_json(self) -> None:
        def task(a: int, **extra: Any) -> None: ...

        codec = PayloadCodec.of(task)

        assert codec.decode(codec.encode((1,), {"x": [1, None]})) == {"a": 1, "x": [1, None]}

    def test_named_arguments_keep_their_types_beside_extra_ones(self) -> None:
        def task(a: UUID, *, b: UUID, **extra: Any) -> None: ...

        assert "extra" in PayloadCodec.of(task).encode((UUID(int=1),), {"b": UUID(int=2), "extra": 1})

    def test_extra_keyword_arguments_have_their_annotated_type(self) -> None:
        def task(**prices: Decimal) -> None: ...

        codec = PayloadCodec.of(task)

        assert codec.decode(codec.encode((), {"x": "1.10"})) == {"x": Decimal("1.10")}

    def test_positional_only_arguments_are_passed_by_position(self) -> None:
        def task(a: int, b: int = 2, /, c: int = 3) -> tuple[int, ...]:
            return a, b, c

        codec = PayloadCodec.of(task)
        args, kwargs = codec.arguments(codec.decode(codec.encode((1,), {"c": 9})))

        assert (args, kwargs) == ((1,), {"c": 9})
        assert task(*args, **kwargs) == (1, 2, 9)

    def test_a_gap_before_a_positional_only_argument_gets_its_default(self) -> None:
        def task(a: int = 1, b: int = 2, /) -> None: ...

        assert PayloadCodec.of(task).arguments({"b": 5}) == ((1, 5), {})

    def test_named_arguments_stay_named(self) -> None:
        def task(a: int) -> None: ...

        assert PayloadCodec.of(task).arguments({"a": 5}) == ((), {"a": 5})

    def test_a_partial_stores_what_is_left_to_give(self) -> None:
        def task(a: int, b: UUID) -> None: ...

        codec = PayloadCodec.of(functools.partial(task, 1))

        assert codec.decode(codec.encode((), {"b": UUID(int=1)})) == {"b": UUID(int=1)}

    def test_an_object_that_can_be_called_is_a_task_too(self) -> None:
        class Task:
            def __call__(self, a: Decimal) -> None: ...

        assert PayloadCodec.of(Task()).encode((Decimal("1.0"),), {}) == '{"a":"1.0"}'

    def test_bytes_that_write_themselves_as_base64_are_stored(self) -> None:
        assert there_and_back(Base64Bytes, b"YWJj") == b"abc"

    def test_a_model_that_writes_its_bytes_as_base64_is_stored(self) -> None:
        class Blob(BaseModel):
            model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
            data: bytes

        assert there_and_back(Blob, Blob(data=b"\xff")) == Blob(data=b"\xff")

    def test_a_field_a_model_excludes_is_its_own_business(self) -> None:
        class Cached(BaseModel):
            kept: int
            cache: float = Field(default=0.0, exclude=True)

        assert there_and_back(Cached, Cached(kept=1, cache=math.nan)) == Cached(kept=1)

    def test_a_payload_with_a_models_alias_is_understood(self) -> None:
        class Named(BaseModel):
            first_name: str = Field(alias="firstName")

        codec = codec_for(Named)

        assert codec.decode('{"value": {"firstName": "Ada"}}')["value"].first_name == "Ada"

    def test_a_nested_dataclass_ignores_fields_that_a_later_release_added(self) -> None:
        assert codec_for(Point).decode('{"value": {"x": 1, "y": 2, "z": 3}}')["value"] == Point(1, 2)


class TestResults:
    def test_nothing_is_null(self) -> None:
        assert encode_result(None) == "null"

    def test_a_result_without_annotation_may_be_anything_json_has_a_form_for(self) -> None:
        value = {"id": UUID(int=1), "point": Point(1, 2), "when": date(2026, 1, 1), "colours": [Colour.RED]}

        assert json.loads(encode_result(value)) == {
            "id": str(UUID(int=1)),
            "point": {"x": 1.0, "y": 2.0, "tags": []},
            "when": "2026-01-01",
            "colours": ["red"],
        }

    def test_a_result_that_is_not_what_was_annotated_is_kept_as_what_it_is(self) -> None:
        assert decode_result(encode_result([1, "a"], int), int) == [1, "a"]

    def test_a_codec_knows_its_tasks_return_type(self) -> None:
        def task() -> Decimal: ...  # type: ignore[empty-body]

        codec = PayloadCodec.of(task)

        assert codec.decode_result(codec.encode_result(Decimal("1.10"))) == Decimal("1.10")


def test_a_codec_names_its_task() -> None:
    def send_mail() -> None: ...

    assert PayloadCodec.of(send_mail).task.endswith("send_mail")
