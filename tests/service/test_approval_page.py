"""The page where an approver without a login decides: only a click does, only with the secret, and only once."""

import asyncio
import base64
import logging
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest

from guarantees.proxy import Action, proxied
from holdfast import Configuration, Holdfast
from holdfast.domain.approval import Invitation
from holdfast.domain.states import Status
from holdfast.interfaces.http.asgi import asgi
from holdfast.testing import TestServer
from holdfast.testing.scratch import Clock
from sql.asking import approval, asked, decide, votes
from sql.support import Machine
from world.often import times

OWN = {"Sec-Fetch-Site": "same-origin", "Origin": "null"}  # as a browser sends our own forms


@dataclass
class Office:
    """An app whose approvals are decided through its page."""

    app: Holdfast
    machine: Machine
    clock: Clock

    def invite(self, who: str = "ann", **gate: Any) -> Invitation:
        """Ask somebody."""
        gate = {"facts": {"amount": 900, "to": "<b>Bo</b>"}, **gate}
        return self.app.approvals.mint_token(asked(self.machine, **gate).approval_id, who)

    def decision(self, invitation: Invitation) -> str | None:
        told: str | None = approval(self.machine, invitation.approval_id)["decision"]
        return told


@pytest.fixture(scope="module")
def office(holdfast_server: TestServer) -> Iterator[Office]:
    """Give one office for all tests: each has approvals of its own."""
    with (
        holdfast_server.database() as database,
        psycopg.connect(database.owner_url, autocommit=True) as connection,
    ):
        app, machine = database.use(Holdfast()), Machine(connection)
        machine.register("t")
        yield Office(app, machine, database.clock)
        app.close()


@pytest.fixture
async def visitor(office: Office) -> AsyncIterator[httpx.AsyncClient]:
    """Give somebody with a browser."""
    transport = httpx.ASGITransport(asgi(office.app, ["approvals"]), client=("203.0.113.9", 1))
    async with httpx.AsyncClient(transport=transport, base_url="https://jobs.test", headers=OWN) as client:
        yield client
    await office.app.link.aclose()


def field(page: str, name: str) -> str:
    (found,) = re.findall(rf'name="{name}" value="([^"]*)"', page)
    return str(found)


async def look(visitor: httpx.AsyncClient, invitation: Invitation) -> httpx.Response:
    return await visitor.post(f"/a/{invitation.approval_id}", data={"code": invitation.token})


async def press(
    visitor: httpx.AsyncClient, invitation: Invitation, decision: str, reason: str = ""
) -> httpx.Response:
    """Look, and press a button of what is shown."""
    shown = (await look(visitor, invitation)).text
    data = {"code": field(shown, "code"), "version": field(shown, "version")}
    return await visitor.post(
        f"/a/{invitation.approval_id}", data={**data, "decision": decision, "reason": reason}
    )


# -- deciding ----------------------------------------------------------------------------------------------------------


async def test_who_has_the_secret_sees_the_question_and_a_click_decides(
    visitor: httpx.AsyncClient, office: Office
) -> None:
    invitation = office.invite()

    shown = await look(visitor, invitation)
    before = office.decision(invitation)
    done = await press(visitor, invitation, "approve", "seen the\r\ninvoice")

    assert (shown.status_code, before) == (200, None)
    assert "Refund 900 €?" in shown.text
    assert "&lt;b&gt;Bo&lt;/b&gt;" in shown.text
    assert (done.status_code, "<h1>Approved</h1>" in done.text) == (200, True)
    (vote,) = votes(office.machine, invitation.approval_id)
    assert (vote["who"], vote["how"], vote["origin"]) == ("ann", "token", "203.0.113.9")
    assert vote["reason"] == "seen the\ninvoice"
    audit = office.machine.one("select * from holdfast.audit where target = %s", str(invitation.approval_id))
    assert (audit["actor"], audit["action"], audit["address"]) == ("ann", "approval.approve", "203.0.113.9")


async def test_denying_needs_a_reason_and_what_was_refused_may_be_sent_again(
    visitor: httpx.AsyncClient, office: Office
) -> None:
    invitation = office.invite()

    refused = await press(visitor, invitation, "deny", "  ")
    between = office.decision(invitation)
    done = await press(visitor, invitation, "deny", "sent twice")

    assert (refused.status_code, between) == (422, None)
    assert "denying needs a reason" in refused.text
    assert (done.status_code, office.decision(invitation)) == (200, "denied")


async def test_of_two_who_have_to_approve_each_counts(visitor: httpx.AsyncClient, office: Office) -> None:
    first = office.invite(quorum=2)
    second = office.app.approvals.mint_token(first.approval_id, "ben")

    counted = await press(visitor, first, "approve")
    done = await press(visitor, second, "approve")

    assert "1 of 2 have approved" in counted.text
    assert "<h1>Approved</h1>" in done.text


async def test_a_pasted_link_is_as_good_as_its_code(visitor: httpx.AsyncClient, office: Office) -> None:
    invitation = office.invite()
    link = f" https://jobs.test/a/{invitation.approval_id}#{invitation.token}\n"

    shown = await visitor.post(f"/a/{invitation.approval_id}", data={"code": link})

    assert (shown.status_code, field(shown.text, "code")) == (200, invitation.token)


async def test_a_decision_about_something_else_than_was_shown_is_refused(
    visitor: httpx.AsyncClient, office: Office
) -> None:
    invitation = office.invite()
    data = {"code": invitation.token, "decision": "approve", "version": "0" * 64}

    refused = await visitor.post(f"/a/{invitation.approval_id}", data=data)

    assert (refused.status_code, office.decision(invitation)) == (422, None)
    assert "look at it again" in refused.text


async def test_who_comes_second_is_told_who_was_first(visitor: httpx.AsyncClient, office: Office) -> None:
    invitation = office.invite()
    decide(office.machine, invitation.approval_id, "ben", "deny", "too much")

    late = await look(visitor, invitation)

    assert late.status_code == 200
    assert "denied by ben" in late.text
    assert "too much" in late.text


async def test_of_clicks_at_once_one_counts_and_the_others_learn_who_it_was(
    visitor: httpx.AsyncClient, office: Office
) -> None:
    for _ in range(times(5, 500)):
        ann = office.invite()
        ben = office.app.approvals.mint_token(ann.approval_id, "ben")

        pages = await asyncio.gather(
            press(visitor, ann, "approve"), press(visitor, ben, "deny", "no"), return_exceptions=True
        )

        texts = [page.text for page in pages if isinstance(page, httpx.Response)]
        assert len(votes(office.machine, ann.approval_id)) == 1
        assert sum("You have" in text for text in texts) == 1
        assert sum("decided already" in text for text in texts) + sum(
            isinstance(page, ValueError) for page in pages  # it was closed before there was a button
        ) == 1  # fmt: skip


# -- A1: nothing but a click ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [{}, {"Purpose": "prefetch"}, {"Sec-Purpose": "prefetch;prerender"}, {"X-Moz": "prefetch"}],
    ids=["plain", "prefetch", "prerender", "moz"],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"])
async def test_no_visit_decides_whatever_it_brings(
    visitor: httpx.AsyncClient, office: Office, method: str, headers: dict[str, str]
) -> None:
    invitation = office.invite()
    path = f"/a/{invitation.approval_id}?code={invitation.token}&decision=approve&version={invitation.bound_hash}"

    for _ in range(times(2, 100)):
        answer = await visitor.request(method, path, headers=headers)

        assert answer.status_code == (200 if method in {"GET", "HEAD"} else 405)
        assert invitation.token not in answer.text
    assert office.decision(invitation) is None
    assert office.machine.status(invitation.job_id) is Status.WAITING_FOR_APPROVAL


async def test_a_visit_shows_the_same_bytes_whatever_there_is(
    visitor: httpx.AsyncClient, office: Office
) -> None:
    paths = [str(office.invite().approval_id), str(uuid4()), "nonsense", "%00"]

    seen = {(answer.status_code, answer.text) for answer in [await visitor.get(f"/a/{p}") for p in paths]}

    assert len(seen) == 1


async def test_the_page_lets_browsers_do_nothing_else(visitor: httpx.AsyncClient, office: Office) -> None:
    invitation = office.invite()
    answers = [
        await visitor.get(f"/a/{invitation.approval_id}"),
        await look(visitor, invitation),
        await visitor.get("/a/approval.js"),
        await visitor.get("/a/approval.css"),
    ]

    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-frame-options"] == "DENY"
    assert not re.search(r"https?:|<script>| on\w+=|style=", answers[1].text)


# -- A3, A4: everybody else --------------------------------------------------------------------------------------------


async def test_everybody_without_a_right_secret_sees_the_same_page(
    visitor: httpx.AsyncClient, office: Office
) -> None:
    for _ in range(times(1, 80)):
        await refuse_everybody(visitor, office)


async def refuse_everybody(visitor: httpx.AsyncClient, office: Office) -> None:
    fresh, used, replaced = office.invite(), office.invite(), office.invite()
    tenants = [office.invite(enqueued={"tenant": tenant}) for tenant in ("acme", "globex")]
    await press(visitor, used, "approve")
    office.app.approvals.mint_token(replaced.approval_id, "ann")
    stranger = "hfa_" + secrets.token_urlsafe(32)
    tried: list[tuple[UUID | str, str]] = [
        (fresh.approval_id, stranger),
        (fresh.approval_id, ""),
        (fresh.approval_id, "x" * 5000),
        (fresh.approval_id, "hfa_' or 1=1 --"),
        (fresh.approval_id, "hfa_\x00"),
        (fresh.approval_id, office.invite().token),
        (used.approval_id, used.token),
        (replaced.approval_id, replaced.token),
        (uuid4(), fresh.token),
        ("nonsense", fresh.token),
        (tenants[0].approval_id, tenants[1].token),
    ]

    answers = [await visitor.post(f"/a/{one}", data={"code": code}) for one, code in tried]
    answers.append(await visitor.post(f"/a/{fresh.approval_id}", data={"code": fresh.token, "more": "x"}))
    answers.append(await visitor.post(f"/a/{fresh.approval_id}", content=b"code=%FF"))
    answers.append(await visitor.post(f"/a/{fresh.approval_id}", json={"code": fresh.token}))

    assert {(answer.status_code, answer.text) for answer in answers} == {(404, answers[0].text)}
    assert "This link cannot be used" in answers[0].text
    assert office.decision(fresh) is None


async def test_after_its_time_a_right_secret_learns_that_and_decides_nothing(
    visitor: httpx.AsyncClient, office: Office
) -> None:
    invitation = office.invite(expires_in=3600)
    office.clock.advance(3601)

    late = await look(visitor, invitation)

    assert "expired by system" in late.text
    assert office.decision(invitation) == "expired"


async def test_guesses_are_limited_and_hit_nothing(visitor: httpx.AsyncClient, office: Office) -> None:
    invitation = office.invite()
    prefix = invitation.token[:20]
    path = f"/a/{invitation.approval_id}"

    for _ in range(times(30, 100_000)):
        code = prefix + secrets.token_urlsafe(32)[: len(invitation.token) - len(prefix)]
        assert (await visitor.post(path, data={"code": code})).status_code == 404
    locked = await look(visitor, invitation)

    assert locked.status_code == 404
    assert len(approval(office.machine, invitation.approval_id)["wrong_tries"]) == 5
    assert office.decision(invitation) is None


# -- A5: other sites ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.test"},
        {"Sec-Fetch-Site": "same-site", "Origin": "https://other.jobs.test"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
        {"Sec-Fetch-Site": "", "Origin": "https://evil.test"},
        {"Origin": "https://jobs.test.evil.test"},
    ],
)
async def test_what_another_site_sends_is_refused_even_with_the_secret(
    office: Office, headers: dict[str, str]
) -> None:
    invitation = office.invite()
    data = {"code": invitation.token, "decision": "approve", "version": invitation.bound_hash}
    transport = httpx.ASGITransport(asgi(office.app, ["approvals"]))
    async with httpx.AsyncClient(transport=transport, base_url="https://jobs.test") as client:
        answer = await client.post(f"/a/{invitation.approval_id}", data=data, headers=headers)
    await office.app.link.aclose()

    assert (answer.status_code, office.decision(invitation)) == (403, None)


# -- A6: where secrets are not -----------------------------------------------------------------------------------------


async def test_a_secret_stands_in_no_log_and_nowhere_in_the_database(
    visitor: httpx.AsyncClient, office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    invitation = office.invite()
    await press(visitor, invitation, "approve", "fine")
    await look(visitor, invitation)

    columns = office.machine.rows(
        "select table_name as t from information_schema.tables where table_schema = 'holdfast' and table_type = 'BASE TABLE'"
    )
    texts = [
        row["text"]
        for column in columns
        for row in office.machine.rows(f"select x::text as text from holdfast.{column['t']} as x")
    ]
    logged = [record.getMessage() + repr(record.__dict__) for record in caplog.records]

    assert len(texts) > 10
    assert [text for text in texts + logged if invitation.token in text] == []


async def test_a_secret_does_not_even_come_as_far_as_the_database(
    visitor: httpx.AsyncClient, office: Office
) -> None:
    """What is not sent stands in no log of the server's, in no statistics of its statements, and in no dump of its memory."""
    invitation = office.invite()
    with proxied(office.app.link.database.url) as proxy:
        app = Holdfast(proxy.url)
        transport = httpx.ASGITransport(asgi(app, ["approvals"]))
        async with httpx.AsyncClient(
            transport=transport, base_url="https://jobs.test", headers=OWN
        ) as client:
            with proxy.overheard() as heard:
                other = app.approvals.mint_token(invitation.approval_id, "ben")
                await look(client, other)
                await press(client, other, "approve", "seen by ben")
        await app.link.aclose()

    assert b"seen by ben" in heard
    for secret in (other.token, other.token.removeprefix("hfa_")):
        assert secret.encode() not in heard


async def test_a_thief_of_the_database_has_no_secret(visitor: httpx.AsyncClient, office: Office) -> None:
    """A7: what is stored, in every spelling that a form takes, opens nothing."""
    invitation = office.invite()
    stored = office.machine.value(
        "select token_hash from holdfast.approver where approval_id = %s", invitation.approval_id
    )
    spellings = [
        base64.urlsafe_b64encode(stored).decode().rstrip("="),
        stored.hex(),
        stored.hex()[:43],
        f"\\x{stored.hex()}",
    ]

    answers = [
        await visitor.post(
            f"/a/{invitation.approval_id}", data={"code": f"hfa_{spelling}", "decision": "approve"}
        )
        for spelling in spellings
    ]

    assert [answer.status_code for answer in answers] == [404] * len(spellings)
    assert office.decision(invitation) is None


@pytest.mark.parametrize("cut", ["cut_before", "cut_after"])
async def test_a_crash_in_a_decision_leaves_both_it_and_the_move_or_none(office: Office, cut: Action) -> None:
    """A8: the connection breaks before the commit reaches the server, or before its answer comes back."""
    with proxied(office.app.link.database.url) as proxy:
        app = Holdfast(proxy.url)
        transport = httpx.ASGITransport(asgi(app, ["approvals"]))
        async with httpx.AsyncClient(
            transport=transport, base_url="https://jobs.test", headers=OWN
        ) as client:
            for _ in range(times(3, 150)):
                invitation = office.invite()
                data = {
                    "code": invitation.token,
                    "decision": "deny",
                    "reason": "no",
                    "version": invitation.bound_hash,
                }
                strike = proxy.strike(cut, "^commit")
                answer = await client.post(f"/a/{invitation.approval_id}", data=data)

                assert answer.status_code == 503
                strike.until_landed()
                is_done = cut == "cut_after"
                assert office.decision(invitation) == ("denied" if is_done else None)
                assert (office.machine.status(invitation.job_id) is Status.FAILED) == is_done
                assert len(votes(office.machine, invitation.approval_id)) == is_done
                again = await client.post(f"/a/{invitation.approval_id}", data=data)
                assert (again.status_code, office.decision(invitation)) == (200, "denied") or is_done
        await app.link.aclose()


# -- the database is away, and links ------------------------------------------------------------------------------------


async def test_without_the_database_the_page_says_to_try_again() -> None:
    app = Holdfast("postgresql://nobody@127.0.0.1:1/nothing")
    transport = httpx.ASGITransport(asgi(app, ["approvals"]))
    async with httpx.AsyncClient(transport=transport, base_url="https://jobs.test", headers=OWN) as client:
        shown = await client.get(f"/a/{uuid4()}")
        answer = await client.post(f"/a/{uuid4()}", data={"code": "hfa_" + "x" * 43})

    assert shown.status_code == 200
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "127.0.0.1" not in answer.text


def test_links_lead_to_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Holdfast()
    monkeypatch.delenv("HOLDFAST_BASE_URL", raising=False)
    with pytest.raises(Configuration, match="HOLDFAST_BASE_URL"):
        app.approvals.page_of("id", "hfa_x")

    monkeypatch.setenv("HOLDFAST_BASE_URL", "https://jobs.test/holdfast/")

    assert app.approvals.page_of("id", "hfa_x") == "https://jobs.test/holdfast/a/id#hfa_x"
