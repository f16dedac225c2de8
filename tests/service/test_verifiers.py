"""Who signed it: honest senders get through to the database, and nobody else. There is no database here: getting through is 503."""

import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from holdfast import Configuration, Holdfast
from holdfast.runtime import webhooks
from holdfast.server import GitHub, HmacHeader, SharedSecret, StandardWebhook, Stripe, Verifier
from holdfast.store.connection import Database
from service import senders
from service.senders import OTHER, SECRET, Sender, event, sending
from world.often import times

THROUGH, REFUSED = 503, 401
SECONDS = 300
HEX_DIGITS = 64  # of a SHA-256


@dataclass(frozen=True)
class Way:
    """A way of signing: who verifies it, how it is signed, whether the signature covers a time, and which of its headers is hex."""

    name: str
    verifier: Callable[[Any], Verifier]
    sign: Callable[..., dict[str, str]]
    is_timed: bool = False
    covers_the_body: bool = True
    in_hex: str | None = None  # and may come in capitals


def slack(secret: Any) -> Verifier:
    return HmacHeader(
        secret, header="X-Slack-Signature", prefix="v0=", signed="v0:{timestamp}:{body}",
        timestamp_header="X-Slack-Request-Timestamp",
    )  # fmt: skip


WAYS = [
    Way("stripe", Stripe, senders.stripe, is_timed=True),
    Way("github", GitHub, senders.github, in_hex="X-Hub-Signature-256"),
    Way("standard", StandardWebhook, senders.standard, is_timed=True),
    Way("hmac", HmacHeader, senders.hmac_header, in_hex="X-Signature"),
    Way("slack", slack, senders.slack, is_timed=True, in_hex="X-Slack-Signature"),
    Way("shared", SharedSecret, senders.shared, covers_the_body=False),
]
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
each_signature = pytest.mark.parametrize(
    "way", [way for way in WAYS if way.covers_the_body], ids=lambda way: way.name
)
# Of bare hex no letter counts as small or capital.
each_lettered = pytest.mark.parametrize(
    "way", [way for way in WAYS if way.name != "hmac"], ids=lambda way: way.name
)
each_timed = pytest.mark.parametrize("way", [way for way in WAYS if way.is_timed], ids=lambda way: way.name)


async def handler(_event: Any, _conn: Any) -> None:
    """Do nothing."""


def app_with(verifier: Verifier) -> Holdfast:
    app = Holdfast()
    app.connect_to(Database("postgresql://127.0.0.1:9/nowhere", "test"))
    app.webhook("stripe", verify=verifier, on={"*": handler})
    return app


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "PATIENCE", ())


@pytest.fixture
async def sender(way: Way) -> AsyncIterator[Sender]:
    async with sending(app_with(way.verifier(SECRET))) as sender:
        yield sender


@each_way
async def test_what_its_sender_signed_gets_through(way: Way, sender: Sender) -> None:
    answer = await sender.post(event(), way.sign(event()))

    assert answer.status_code == THROUGH
    assert answer.headers["retry-after"] == "5"


@each_way
async def test_another_secret_none_and_an_empty_one_are_refused_alike(way: Way, sender: Sender) -> None:
    body = event()
    standard = dict.fromkeys(way.sign(body), "")
    wrong = [
        await sender.post(body, way.sign(body, OTHER)),
        await sender.post(body, {}),
        await sender.post(body, standard),
        await Sender(sender.client, "nobody").post(body, way.sign(body)),
    ]

    assert [answer.status_code for answer in wrong] == [REFUSED] * 4
    assert len({(answer.text, str(sorted(answer.headers))) for answer in wrong}) == 1
    assert set(wrong[0].json()) == {"type", "title", "status"}


@each_timed
@pytest.mark.parametrize(
    ("off", "expected"),
    [(-SECONDS - 1, REFUSED), (SECONDS + 2, REFUSED), (SECONDS - 20, THROUGH), (20 - SECONDS, THROUGH)],
    ids=["old", "from the future", "a little ahead", "a little late"],
)
async def test_a_time_counts_for_300_seconds_in_both_directions(
    way: Way, sender: Sender, off: int, expected: int
) -> None:
    """S3: signed with the real secret, and still refused."""
    for number in range(times(1, 100)):
        further = number * 50 * (1 if off > 0 else -1) if expected == REFUSED else 0
        answer = await sender.post(event(), way.sign(event(), at=time.time() + off + further))

        assert answer.status_code == expected


@each_signature
async def test_the_same_json_written_otherwise_is_refused(way: Way, sender: Sender) -> None:
    """S5: the bytes are signed, not what they mean."""
    signed = way.sign(event())
    others = [event().replace(b": ", b":"), event() + b"\n", b" " + event(), event().replace(b"{", b"{ ", 1)]
    chance = random.Random(5)
    others += [spread(event(), chance) for _ in range(times(4, 100))]

    answers = [await sender.post(body, signed) for body in others]

    assert [answer.status_code for answer in answers] == [REFUSED] * len(others)


def spread(text: bytes, chance: random.Random) -> bytes:
    """Put white space where JSON does not mind it."""
    place = chance.choice([at for at, byte in enumerate(text) if byte in b"{}:,"]) + 1
    return text[:place] + bytes(chance.choices(b" \t\r\n", k=chance.randint(1, 4))) + text[place:]


@each_way
async def test_flipped_bits_never_get_through(way: Way, sender: Sender) -> None:
    """S4: one bit of the body, of the signature, or of the time."""
    chance = random.Random(7)
    for _ in range(times(30, 2000)):
        body, signed = event(), way.sign(event())
        headers = dict(signed)
        names = ["body", *headers] if way.covers_the_body else list(headers)
        chosen = chance.choice([name for name in names if not name.startswith("X-GitHub")])
        if chosen == "body":
            body = flipped(body, chance)
        else:
            headers[chosen] = flipped(headers[chosen].encode("latin-1"), chance).decode("latin-1")
        try:
            answer = await sender.post(body, [*headers.items()])
        except UnicodeEncodeError:  # no header can hold it
            continue
        is_the_same_in_capitals = chosen == way.in_hex and headers[chosen].lower() == signed[chosen].lower()
        assert answer.status_code == REFUSED or is_the_same_in_capitals, (chosen, headers)


@each_lettered
async def test_small_letters_do_not_pass_for_capitals_but_in_hex(way: Way, sender: Sender) -> None:
    """S4: base64 and secrets mean something else in other letters, and so do the names of schemes."""
    signed = way.sign(event())
    others: list[dict[str, str]] = []
    for name in (name for name in signed if not name.startswith("X-GitHub")):
        counts = signed[name][:-HEX_DIGITS] if name == way.in_hex else signed[name]
        letters = [place for place, letter in enumerate(counts) if letter.isalpha()]
        swaps = [[place] for place in letters] + ([letters] if letters else [])
        others += [{**signed, name: swapped(signed[name], places)} for places in swaps]
    assert others

    answers = [await sender.post(event(), other) for other in others]

    assert [answer.status_code for answer in answers] == [REFUSED] * len(others)


def swapped(text: str, places: Sequence[int]) -> str:
    """Make small letters capitals at these places, and capitals small letters."""
    return "".join(letter.swapcase() if place in places else letter for place, letter in enumerate(text))


def flipped(text: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(text))
    return text[:place] + bytes([text[place] ^ (1 << chance.randrange(8))]) + text[place + 1 :]


@each_way
async def test_a_header_that_comes_twice_says_nothing(way: Way, sender: Sender) -> None:
    """S4: two readers might choose differently, so that neither is believed."""
    right, wrong = way.sign(event()), way.sign(event(), OTHER)
    names = [name for name in right if right[name] != wrong[name]]
    for first, second in ((right, wrong), (wrong, right), (right, right)):
        twice = [*first.items(), *((name, second[name]) for name in names)]

        assert (await sender.post(event(), twice)).status_code == REFUSED


@each_way
async def test_two_secrets_count_while_one_replaces_the_other(way: Way) -> None:
    """S8: nothing is lost on the way from old to new, and the old one ends."""
    for secrets, expected in (
        ([OTHER], [THROUGH, REFUSED]),
        ([SECRET, OTHER], [THROUGH, THROUGH]),
        ([SECRET], [REFUSED, THROUGH]),
    ):
        async with sending(app_with(way.verifier(secrets))) as sender:
            answers = [await sender.post(event(), way.sign(event(), secret)) for secret in (OTHER, SECRET)]

        assert [answer.status_code for answer in answers] == expected


def forged_stripe_headers() -> dict[str, str]:
    body, now = event(), int(time.time())
    right = senders.stripe(body)["Stripe-Signature"]
    signature = right.partition("v1=")[2]
    return {
        "v0 only": right.replace("v1=", "v0="),
        "no time": f"v1={signature}",
        "two times": f"t=1,{right}",
        "time in other digits": right.replace(str(now), "".join(chr(0x660 + int(d)) for d in str(now))),
        "no signature": f"t={now}",
        "empty signature": f"t={now},v1=",
        "not ASCII": f"t={now},v1=é{signature}",
        "signed without the time": f"t={now},v1={senders.digest(SECRET, body).hex()}",
        "with the name of another algorithm": f"t={now},sha1={senders.digest(SECRET, body, 'sha1').hex()}",
        "signed with nothing": f"t={now},v1={senders.digest('', f'{now}.'.encode() + body).hex()}",
        "a negative time": right.replace(f"t={now}", f"t=-{now}"),
        "a long time": right.replace(f"t={now}", f"t=000000{now}"),
        "commas": "," * 1000,
    }


@pytest.mark.parametrize("way", WAYS[:1], ids=["stripe"])
@pytest.mark.parametrize("forgery", [*forged_stripe_headers()])
async def test_a_forged_stripe_header_is_refused(way: Way, sender: Sender, forgery: str) -> None:
    header = forged_stripe_headers()[forgery].encode()
    answer = await sender.client.post(sender.path, content=event(), headers={b"Stripe-Signature": header})

    assert answer.status_code == REFUSED


@pytest.mark.parametrize("way", WAYS[:1], ids=["stripe"])
async def test_one_right_signature_among_wrong_ones_and_unknown_schemes_counts(
    way: Way, sender: Sender
) -> None:
    right = senders.stripe(event())["Stripe-Signature"]
    wrong = right.replace("v1=", "v1=00").replace(",", f",v9={'0' * 64},", 1)

    answer = await sender.post(event(), {"Stripe-Signature": f"{wrong},{right.partition(',')[2]}"})

    assert answer.status_code == THROUGH


@pytest.mark.parametrize("way", WAYS[1:2], ids=["github"])
@pytest.mark.parametrize("algorithm", ["sha1", "sha512"])
async def test_githubs_older_signature_is_no_signature(way: Way, sender: Sender, algorithm: str) -> None:
    signed = f"{algorithm}={senders.digest(SECRET, event(), algorithm).hex()}"
    names = ("X-Hub-Signature", "X-Hub-Signature-256")
    about = {"X-GitHub-Delivery": "1", "X-GitHub-Event": "push"}

    answers = [await sender.post(event(), {name: signed, **about}) for name in names]

    assert [answer.status_code for answer in answers] == [REFUSED] * 2


@pytest.mark.parametrize("way", WAYS[2:3], ids=["standard"])
@pytest.mark.parametrize("event_id", ["", "a.1"])
async def test_an_id_that_could_end_elsewhere_is_no_id(way: Way, sender: Sender, event_id: str) -> None:
    answer = await sender.post(event(), senders.standard(event(), event_id=event_id))

    assert answer.status_code == REFUSED


@pytest.mark.parametrize("way", WAYS[3:4], ids=["hmac"])
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[" * 100 + b"]" * 100, b'{"id": NaN}', b"\xff", b'{"a": ' + b"1" * 5000 + b"}"],
    ids=["nothing", "cut", "deep", "NaN", "bytes", "digits"],
)
async def test_what_is_signed_and_cannot_be_read_is_invalid(way: Way, sender: Sender, body: bytes) -> None:
    answer = await sender.post(body, way.sign(body))

    assert (answer.status_code, answer.json()["type"]) == (422, "urn:holdfast:problem:invalid")


@pytest.mark.parametrize(
    ("verifier", "sign", "body"),
    [
        (Stripe, senders.stripe, b'{"type": "a"}'),
        (Stripe, senders.stripe, b"[]"),
        (Stripe, senders.stripe, event(kind="x" * 201)),
        (Stripe, senders.stripe, event(event_id="a\x00b")),
        (lambda s: HmacHeader(s, id_header="X-Id"), senders.hmac_header, event()),
        (GitHub, lambda body: {**senders.github(body), "X-GitHub-Delivery": ""}, event()),
    ],
    ids=["no id", "a list", "a long type", "NUL", "no header", "no delivery"],
)
async def test_an_event_without_a_name_is_invalid(
    verifier: Callable[[str], Verifier], sign: Callable[[bytes], dict[str, str]], body: bytes
) -> None:
    async with sending(app_with(verifier(SECRET))) as sender:
        assert (await sender.post(body, sign(body))).status_code == 422


# -- secrets ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
@pytest.mark.parametrize("secret", ["", "short", "x" * 40, []], ids=["empty", "short", "repeated", "none"])
def test_a_weak_secret_is_refused_when_it_is_given(way: Way, secret: Any) -> None:
    with pytest.raises(Configuration):
        way.verifier(secret)


async def test_secrets_come_from_the_environment_when_the_door_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_with(Stripe())  # a worker that imports this app needs no secret

    with pytest.raises(Configuration, match="HOLDFAST_WEBHOOK_SECRET_STRIPE"):
        async with sending(app):
            pass
    monkeypatch.setenv("HOLDFAST_WEBHOOK_SECRET_STRIPE", SECRET)
    monkeypatch.setenv("HOLDFAST_WEBHOOK_SECRET_STRIPE_PREVIOUS", OTHER)
    async with sending(app) as sender:
        answers = [await sender.post(event(), senders.stripe(event(), secret)) for secret in (SECRET, OTHER)]

    assert [answer.status_code for answer in answers] == [THROUGH] * 2


def test_a_verifier_does_not_show_its_secret() -> None:
    assert repr(Stripe(SECRET)) == "<Stripe>"


@pytest.mark.parametrize(
    "wrong",
    [
        {"signed": "{timestamp}.{body}"},
        {"timestamp_header": "X-Time"},
        {"signed": "nothing"},
        {"algorithm": "sha1"},
    ],
)
def test_an_hmac_that_would_not_cover_what_it_says_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Configuration):
        HmacHeader(SECRET, **wrong)
