import pytest

from apps.workspace_access import matches, tasks, workspace
from apps.workspace_access.app import app
from apps.workspace_access.grant import grant
from apps.workspace_access.story import ADMINS_EMAIL, CLIENTS_EMAIL
from apps.workspace_access.tests.product import Product
from holdfast import Status
from holdfast.testing import crash_at

PROVISIONING = tasks.provision_workspace
INTERVENTIONS = "select kind, reason, score::float8, attempts from workspace_access.interventions"


@pytest.mark.parametrize(
    ("first", "second", "previous"),
    [("client", "advisor", "client_approved"), ("advisor", "client", "advisor_accepted")],
)
async def test_a_rollback_returns_the_match_to_exactly_what_it_was(
    product: Product, first: str, second: str, previous: str
) -> None:
    given = await product.matched()
    await product.fail("23503")
    await product.decide(given, first)
    await product.decide(given, second)

    await product.work()

    assert await product.status(given) == previous
    assert not await product.has_access(given)


async def test_without_a_previous_status_it_is_matched_again(product: Product) -> None:
    given = await product.finalized()
    await product.rows("update workspace_access.matches set previous_status = null")
    await product.fail("23503")

    await product.work()

    assert await product.status(given) == "matched"


async def test_a_failure_that_cannot_be_helped_is_rolled_back_without_a_retry(product: Product) -> None:
    given = await product.finalized()
    await product.rows("delete from workspace_access.advisors where id = %s", given.advisor)

    await product.work()

    job, rollback = product.database.jobs(task=PROVISIONING)
    assert (job.status, job.attempt) == (Status.FAILED, 1)
    assert (rollback.status, rollback.compensates) == (Status.COMPLETED, job.id)
    assert await product.status(given) == "matched"


async def test_after_the_last_failure_somebody_is_asked_to_intervene(product: Product) -> None:
    await product.finalized()
    await product.fail("40001")

    await product.settle()

    ((kind, reason, score, attempts),) = await product.rows(INTERVENTIONS)
    assert (kind, score, attempts) == ("workspace_provisioning_failure", 87.5, 4)
    assert "told to fail" in reason


async def test_admins_are_alerted_with_high_priority_and_the_client_is_told(product: Product) -> None:
    given = await product.finalized()
    await product.fail("23503")

    await product.work()

    product.database.assert_enqueued(tasks.write, letter="rolled_back", person_id=given.owner)
    sent = await product.engine("select recipient, priority from holdfast.notification")
    assert (None, 50) in sent  # to the channel's own recipients, the admins
    assert (CLIENTS_EMAIL, 0) in sent
    assert app.alerts.channels["email"].to == (ADMINS_EMAIL,)  # type: ignore[attr-defined]


async def test_a_rollback_that_is_repeated_changes_nothing(product: Product) -> None:
    given = await product.finalized()
    await product.fail("23503")
    await product.work()
    (job, _) = product.database.jobs(task=PROVISIONING)
    await product.mend()
    await product.finalize(given)  # finalized anew

    async with app.atransaction() as conn:
        match = await matches.locked(conn, given.match)
        repeated = await workspace.roll_back(conn, match, job.id, "again", 1)

    assert repeated is None
    assert await product.status(given) == "finalized"
    assert len(await product.rows(INTERVENTIONS)) == 1
    await product.work()
    assert await product.has_access(given)


async def test_a_crash_in_the_rollback_repeats_nothing(product: Product) -> None:
    given = await product.finalized()
    await product.fail("23503")
    with crash_at("finished"):  # the job has failed, and its rollback is born
        await product.work()

    await product.settle()

    assert await product.status(given) == "matched"
    assert len(await product.rows(INTERVENTIONS)) == 1
    assert len(product.database.jobs(task=tasks.write)) == 1


async def test_only_a_match_that_is_still_finalized_is_rolled_back(product: Product) -> None:
    given = await product.finalized()
    await product.fail("23503")
    with crash_at("finished"):
        await product.work()
    await product.finalize(given, "declined")

    await product.settle()

    assert await product.status(given) == "declined"
    assert await product.rows(INTERVENTIONS) == []


async def test_who_was_let_in_by_hand_meanwhile_stays_in(product: Product) -> None:
    given = await product.finalized()
    await product.fail("23503")
    with crash_at("finished"):
        await product.work()
    await product.mend()
    await grant("ann", "the job failed")

    await product.settle()

    assert (await product.status(given), await product.has_access(given)) == ("finalized", True)


async def test_finalizing_again_after_a_rollback_queues_a_new_job(product: Product) -> None:
    for way in ("client", "advisor", "owner", "operator"):
        given = await product.matched()
        await product.fail("23503")
        await product.decide(given, "client")
        await product.decide(given, "advisor")
        await product.work()
        await product.mend()

        match way:
            case "owner":
                await product.finalize(given)
            case "operator":
                assert await grant("ann", "tried again", given.match) == {given.match: "queued"}
            case _:
                await product.decide(given, way)
        await product.work()

        jobs = (await app.ajobs(f"subject:match:{given.match} task:{PROVISIONING.name}")).jobs
        ended = [job.status for job in jobs if job.compensates is None]
        assert ended == [Status.COMPLETED, Status.FAILED], way
        assert (await product.status(given), await product.has_access(given)) == ("finalized", True)


async def test_a_project_that_is_gone_is_not_tried_again(product: Product) -> None:
    given = await product.finalized()
    await product.rows("delete from workspace_access.projects where id = %s", given.project)

    await product.work()

    job, rollback = product.database.jobs(task=PROVISIONING)
    assert (job.status, job.attempt, rollback.status) == (Status.FAILED, 1, Status.COMPLETED)
    assert job.error is not None
    assert job.error["message"].startswith("PROJECT_NOT_FOUND")
