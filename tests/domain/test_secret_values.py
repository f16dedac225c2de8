"""Arguments of pydantic's secret types: they travel, come back as secrets, and where they stand is known."""

import json
from collections import deque
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Generic, NamedTuple, TypeAlias, TypeVar

import pytest
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    RootModel,
    Secret,
    SecretBytes,
    SecretStr,
    field_validator,
)
from typing_extensions import TypedDict

from holdfast import BadPayload, Configuration, Holdfast
from holdfast.domain.payload import PayloadCodec

WORD = "sk-live-90210"
T = TypeVar("T")


class Card(BaseModel):
    number: SecretStr
    owner: str = "Ann"


class Aliased(BaseModel):
    model_config = ConfigDict(serialize_by_alias=True)
    one: SecretStr = Field(alias="One")
    two: SecretStr = Field(
        validation_alias=AliasChoices("deux", AliasPath("pair", 1)), serialization_alias="due"
    )
    three: SecretStr = Field(alias="t.r.ois")


class Node(BaseModel):
    pin: SecretStr
    children: "list[Node]" = []


class Tree(BaseModel):
    name: str = ""
    children: "list[Tree]" = []


class Token(RootModel[SecretStr]): ...


class Pair(NamedTuple):
    name: str
    pin: SecretStr


class Options(TypedDict, total=False):
    token: SecretStr | None


@dataclass(frozen=True)
class Login:
    user: str
    password: SecretStr


Named: TypeAlias = dict[str, Card | SecretStr]


def codec_for(annotation: Any) -> PayloadCodec:
    def task(value: Any) -> None: ...

    task.__annotations__["value"] = annotation
    return PayloadCodec.of(task)


@pytest.mark.parametrize(
    ("annotation", "value", "written", "paths"),
    [
        (SecretStr, SecretStr(WORD), WORD, ["value"]),
        (SecretStr, WORD, WORD, ["value"]),
        (SecretStr, SecretStr(""), "", ["value"]),
        (SecretStr | None, None, None, ["value"]),
        (SecretBytes, SecretBytes(WORD.encode()), WORD, ["value"]),
        (Secret[date], date(2026, 1, 2), "2026-01-02", ["value"]),
        (Secret[int], 90210, 90210, ["value"]),
        (Annotated[SecretStr, Field(min_length=3)], WORD, WORD, ["value"]),
        (list[SecretStr], [WORD, "b"], [WORD, "b"], ["value.*"]),
        (tuple[str, SecretStr], ("a", WORD), ["a", WORD], ["value.*"]),
        (deque[SecretStr], [WORD], [WORD], ["value.*"]),
        (set[SecretStr], {WORD}, [WORD], ["value.*"]),
        (dict[int, SecretStr], {1: WORD}, {"1": WORD}, ["value.*"]),
        (Card, Card(number=SecretStr(WORD)), {"number": WORD, "owner": "Ann"}, ["value.number"]),
        (list[Card], [{"number": WORD, "owner": "Bo"}], [{"number": WORD, "owner": "Bo"}], ["value.*.number"]),
        (
            Named,
            {"a": WORD, "b": {"number": WORD}},
            {"a": WORD, "b": {"number": WORD, "owner": "Ann"}},
            ["value.*", "value.*.number"],
        ),
        (Login, Login("Ann", SecretStr(WORD)), {"user": "Ann", "password": WORD}, ["value.password"]),
        (Options, {"token": WORD}, {"token": WORD}, ["value.token"]),
        (Pair, Pair("Ann", SecretStr(WORD)), ["Ann", WORD], ["value.*"]),
        (Token, WORD, WORD, ["value"]),
        (
            Node,
            {"pin": WORD, "children": [{"pin": "x", "children": []}]},
            {"pin": WORD, "children": [{"pin": "x", "children": []}]},
            ["value.children.*", "value.pin"],
        ),
        (
            Aliased,
            {"One": "a1", "pair": ["", "b2"], "t.r.ois": "c3"},
            {"One": "a1", "due": "b2", "t.r.ois": "c3"},
            ["value.*", "value.One", "value.deux", "value.due", "value.one", "value.pair", "value.three", "value.two"],
        ),
    ],
)  # fmt: skip
def test_a_secret_travels_comes_back_as_one_and_its_place_is_known(
    annotation: Any, value: Any, written: Any, paths: list[str]
) -> None:
    codec = codec_for(annotation)

    text = codec.encode((value,), {})

    assert json.loads(text) == {"value": written}
    assert list(codec.secrets) == paths
    if annotation is not Aliased:  # what is written under one of several names is read under another
        assert WORD not in repr(codec.decode(text))
        assert codec.encode((), codec.decode(text)) == text


def test_what_contains_itself_and_no_secret_hides_nothing() -> None:
    assert codec_for(list[Tree]).secrets == []


def test_stars_that_are_no_secret_stay() -> None:
    assert codec_for(list[str]).encode((["**********"],), {}) == '{"value":["**********"]}'


def test_secrets_among_further_keywords_hide_all_of_them() -> None:
    def task(a: int, **more: SecretStr) -> None: ...

    codec = PayloadCodec.of(task)

    assert json.loads(codec.encode((1,), {"b": WORD})) == {"a": 1, "b": WORD}
    assert codec.secrets == ["*"]


@dataclass
class Box(Generic[T]):
    content: T


class Custom:
    """A type that says for itself how it is written, and has a secret in it."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: Any) -> Any:
        return handler(dict[str, SecretStr])


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Any, SecretStr(WORD)),
        (Box[SecretStr], Box(SecretStr(WORD))),
        (Custom, {"a": WORD}),
        (Annotated[Card, PlainSerializer(str, when_used="json")], {"number": WORD}),
        (set[SecretStr | int], {SecretStr(WORD), 5}),
    ],
)
def test_a_secret_at_a_place_that_nobody_would_hide_is_refused(annotation: Any, value: Any) -> None:
    with pytest.raises(BadPayload, match="secret") as refused:
        codec_for(annotation).encode((value,), {})

    assert WORD not in str(refused.value)


def test_who_writes_a_secret_in_a_form_of_their_own_keeps_it() -> None:
    form = PlainSerializer(lambda value: value.get_secret_value()[::-1], when_used="json")
    codec = codec_for(Annotated[SecretStr, form])

    assert json.loads(codec.encode((WORD,), {})) == {"value": WORD[::-1]}
    assert codec.secrets == ["value"]


class Checked(BaseModel):
    pin: SecretStr

    @field_validator("pin")
    @classmethod
    def has_no_dash(cls, pin: SecretStr) -> SecretStr:
        if "-" in pin.get_secret_value():
            raise ValueError(f"{pin.get_secret_value()} has a dash")
        return pin


@pytest.mark.parametrize(
    ("annotation", "value", "problem"),
    [
        (SecretStr, [WORD], "value: expected text, got [redacted]"),
        (SecretStr, f"{WORD}\x00", "value: is a secret that JSON cannot hold as it is"),
        (SecretStr, f"{WORD}\ud800", "value: "),
        (SecretBytes, b"\xff" + WORD.encode(), "value: is a secret that JSON cannot hold as it is"),
        (Secret[int], WORD, "value: expected an integer, got [redacted]"),
        (Secret[float], float("nan"), "value: is a secret that JSON cannot hold as it is"),
        (Card, {"number": SecretStr(WORD), "owner": [WORD]}, "value.owner: expected text, got"),
        (Card, WORD, "value: expected dictionary or instance of Card, got [redacted]"),
        (Checked, {"pin": WORD}, "value.pin: is not what its annotation asks for, got [redacted]"),
    ],
)
def test_a_refusal_does_not_repeat_a_secret(annotation: Any, value: Any, problem: str) -> None:
    with pytest.raises(BadPayload) as refused:
        codec_for(annotation).encode((value,), {})

    assert str(refused.value).startswith(problem)
    assert WORD not in str(refused.value) or "owner" in problem


def test_a_refusal_does_not_repeat_what_the_task_redacts_either() -> None:
    @Holdfast().task(redact=["card.number"])
    def pay(card: dict[str, Any], amount: int) -> None: ...

    for value in ({"number": f"{WORD}\x00"}, {"number": object()}, WORD):
        with pytest.raises(BadPayload, match="card") as refused:
            pay.job(value, 1)  # type: ignore[arg-type]
        assert WORD not in str(refused.value)
    with pytest.raises(BadPayload, match="got 'much'"):
        pay.job({}, "much")  # type: ignore[arg-type]


def test_a_task_redacts_its_secrets_whether_it_says_so_or_not() -> None:
    @Holdfast().task(redact=["card.owner"])
    def pay(card: Card, key: SecretStr) -> None: ...

    job = pay.job(Card(number=SecretStr(WORD)), SecretStr(WORD))

    assert pay.settings.options["redact"] == ["card.owner", "card.number", "key"]
    assert WORD in job.payload
    assert WORD not in repr(job)


@pytest.mark.parametrize("options", [{"feed_fields": ["key"]}, {"rollout_by": "key", "flag": "x"}])
def test_a_secret_that_would_be_shown_is_refused_where_the_task_is_declared(options: dict[str, Any]) -> None:
    with pytest.raises(Configuration, match="choose one"):

        @Holdfast().task(**options)
        def pay(key: SecretStr) -> None: ...
