from datetime import datetime, timedelta
from uuid import uuid4

from apps.workspace_access.app import app
from apps.workspace_access.tests.product import Product
from apps.workspace_access.web import PREFIX
from holdfast.testing import ScratchDatabase

SHOWN = {
    "id",
    "status",
    "advisor",
    "matchScore",
    "workspaceStatus",
    "provisioningAttempts",
    "createdAt",
    "expiresAt",
}


# -- active-match -----------------------------------------------------------------------------------------------------------


async def test_the_active_match_is_shown_with_its_advisor_and_workspace(product: Product) -> None:
    given = await product.finalized()
    await product.work()

    shown = await product.active_match(given)

    assert set(shown) == {"success", "data"}
    data = shown["data"]
    assert set(data) == SHOWN
    assert data["advisor"] == {
        "id": str(given.advisor), "name": "Ada", "avatar": "https://example.com/ada.png", "skills": ["tax", "law"], "rating": 4.5,
    }  # fmt: skip
    assert (data["id"], data["status"], data["matchScore"]) == (str(given.match), "finalized", 87.5)
    assert (data["workspaceStatus"], data["provisioningAttempts"]) == ("ready", 1)
    assert datetime.fromisoformat(data["expiresAt"]) > datetime.fromisoformat(data["createdAt"])


async def test_the_workspace_is_provisioning_then_failed_with_its_attempts(product: Product) -> None:
    given = await product.finalized()
    before = (await product.active_match(given))["data"]
    await product.fail("40001")

    await product.settle()

    after = await product.active_match(given)
    assert (before["workspaceStatus"], before["provisioningAttempts"]) == ("provisioning", 0)
    assert (after["data"]["workspaceStatus"], after["data"]["provisioningAttempts"]) == ("failed", 4)


async def test_a_match_that_nobody_finalized_has_no_workspace_yet(product: Product) -> None:
    given = await product.matched()

    data = (await product.active_match(given))["data"]

    assert (data["status"], data["workspaceStatus"], data["provisioningAttempts"]) == ("matched", None, 0)


async def test_a_failure_has_a_code_and_says_whether_it_is_recoverable(product: Product) -> None:
    told = {}
    for sqlstate, table in [
        ("23503", "project_advisors"),
        ("40001", "project_advisors"),
        ("40001", "chat_sessions"),
        ("23503", "chat_sessions"),
    ]:
        await product.fail(sqlstate, table=table)
        given = await product.finalized()
        await product.work()
        told[sqlstate, table] = (await product.active_match(given))["error"]
        await product.mend(table)

    assert {kind: (error["code"], error["recoverable"]) for kind, error in told.items()} == {
        ("23503", "project_advisors"): ("ADVISOR_NOT_FOUND", False),
        ("40001", "project_advisors"): ("DATABASE_ERROR", True),
        ("40001", "chat_sessions"): ("CHAT_SESSION_ERROR", True),
        ("23503", "chat_sessions"): ("CHAT_SESSION_ERROR", False),
    }
    assert "told to fail" not in str(told)


async def test_what_is_not_there_is_not_found(product: Product) -> None:
    given = await product.matched()
    await product.finalize(given, "declined")
    who = {"x-user-id": str(given.owner)}
    no_project, no_match = f"{PREFIX}/projects/{uuid4()}", f"{PREFIX}/matches/{uuid4()}"
    yes = {"decision": "approved"}

    answers = [
        await product.http.get(f"{no_project}/active-match"),
        await product.http.get(f"{given.path}/active-match"),
        await product.http.get(f"{PREFIX}/projects/nonsense/active-match"),
        await product.http.post(f"{no_project}/finalize-match", json=yes, headers=who),
        await product.http.post(f"{no_match}/client-decision", json=yes, headers=who),
    ]

    assert [answer.status_code for answer in answers] == [404] * 5
    codes = [answer.json()["error"]["code"] for answer in answers]
    assert codes == [
        "PROJECT_NOT_FOUND",
        "MATCH_NOT_FOUND",
        "NOT_FOUND",
        "PROJECT_NOT_FOUND",
        "MATCH_NOT_FOUND",
    ]


# -- finalize-match ---------------------------------------------------------------------------------------------------------


async def test_finalizing_answers_201_and_a_repeat_200(product: Product) -> None:
    given = await product.matched()

    first, again = await product.finalize(given), await product.finalize(given)
    await product.work()
    ready = await product.finalize(given)

    assert [answer.status_code for answer in (first, again, ready)] == [201, 200, 200]
    assert first.json()["success"] is True
    assert set(first.json()["data"]) == {"status", "workspaceReady", "message"}
    assert [answer.json()["data"]["workspaceReady"] for answer in (first, ready)] == [False, True]


async def test_the_same_key_returns_the_same_answer(product: Product) -> None:
    given = await product.matched()

    first = await product.finalize(given, key="click-1")
    await product.work()
    again = await product.finalize(given, key="click-1")

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()


async def test_the_same_key_with_another_body_is_refused(product: Product) -> None:
    given = await product.matched()
    await product.finalize(given, key="click-1")

    answer = await product.finalize(given, "declined", key="click-1")

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert await product.status(given) == "finalized"


async def test_a_key_is_remembered_for_an_hour(product: Product) -> None:
    given = await product.matched()
    await product.finalize(given, key="click-1")
    await product.work()

    product.database.clock.advance(timedelta(minutes=59))
    within = await product.finalize(given, key="click-1")
    product.database.clock.advance(timedelta(minutes=2))
    after = await product.finalize(given, key="click-1")

    assert [answer.json()["data"]["workspaceReady"] for answer in (within, after)] == [False, True]


async def test_a_key_of_one_person_is_none_of_anothers(product: Product) -> None:
    one, other = await product.matched(), await product.matched()

    answers = [await product.finalize(one, key="click-1"), await product.finalize(other, key="click-1")]

    assert [answer.status_code for answer in answers] == [201, 201]


async def test_a_refused_request_leaves_its_key_free(product: Product) -> None:
    given = await product.matched()
    refused = await product.finalize(given, by=given.advisor, key="click-1")

    answer = await product.finalize(given, key="click-1")

    assert (refused.status_code, answer.status_code) == (403, 201)


async def test_a_body_that_makes_no_sense_is_refused_and_named(product: Product) -> None:
    given = await product.matched()

    for body in (b"", b"[]", b'{"decision": "maybe"}', b'{"decision": "approved", "more": 1}'):
        answer = await product.http.post(
            f"{given.path}/finalize-match", content=body, headers={"x-user-id": str(given.owner)}
        )

        assert (answer.status_code, answer.json()["success"]) == (422, False)
        error = answer.json()["error"]
        assert (error["code"], error["recoverable"]) == ("INVALID_REQUEST", False)
        assert error["message"]


async def test_who_does_not_say_who_they_are_is_refused(product: Product) -> None:
    given = await product.matched()

    answer = await product.http.post(f"{given.path}/finalize-match", json={"decision": "approved"})

    assert answer.status_code == 403


async def test_without_its_database_the_answer_is_503_and_recoverable(product: Product) -> None:
    given = await product.matched()
    await app.aclose()
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    ScratchDatabase(nowhere, nowhere).use(app)

    answer = await product.finalize(given)

    await app.aclose()
    product.database.use(app)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["recoverable"]) == (503, "DATABASE_ERROR", True)
