import hashlib
import random
from collections import Counter
from uuid import UUID

import pytest

from apps.workspace_access import tasks
from apps.workspace_access.app import app
from apps.workspace_access.tests.product import Product
from holdfast import Status, rollout_bucket

FLAG = "ADVISOR_AUTO_PROVISION"


async def switch(product: Product, enabled: bool, percent: int | None = None) -> None:
    await product.rows("select holdfast.set_flag(%s, %s, %s)", FLAG, enabled, percent)


def ids(count: int) -> list[UUID]:
    chance = random.Random(3)
    return [UUID(int=chance.getrandbits(128), version=4) for _ in range(count)]


async def test_jobs_caught_by_the_switch_stay_queued_and_run_when_it_is_on_again(product: Product) -> None:
    await product.finalized()
    await switch(product, enabled=False)
    given = await product.finalized()
    await product.work()
    (held, _) = product.database.jobs(task=tasks.provision_workspace)
    assert held.status is Status.PENDING
    shown = await product.active_match(given)
    assert shown["data"]["workspaceStatus"] == "provisioning"
    assert (shown["error"]["code"], shown["error"]["recoverable"]) == ("FEATURE_DISABLED", True)

    await switch(product, enabled=True)
    await product.work()

    assert await product.has_access(given)
    assert await product.lacking() == 0


async def test_these_words_switch_it_on_and_on_is_the_default(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [await product.finalized()]
    for said in ("true", "1", "TRUE", "yes", "Yes", "on"):
        monkeypatch.setenv(FLAG, said)
        given.append(await product.finalized())

    await product.work()

    assert all([await product.has_access(one) for one in given])


@pytest.mark.parametrize("said", ["false", "off", ""])
async def test_other_words_switch_it_off(
    product: Product, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv(FLAG, said)

    given = await product.finalized()
    await product.work()

    assert not await product.has_access(given)
    (job,) = product.database.jobs(task=tasks.provision_workspace)
    assert job.status is Status.PENDING


def test_a_bucket_is_the_last_8_hex_digits_of_md5_unsigned_mod_10() -> None:
    for project in ids(1000):
        digits = hashlib.md5(str(project).encode()).hexdigest()[-8:]
        assert rollout_bucket(project) == int(digits, 16) % 10


async def test_sql_and_python_agree_on_the_bucket(product: Product) -> None:
    projects = ids(500)

    found = await product.rows(
        "select workspace_access.project_bucket(id) from unnest(%s::uuid[]) as t (id)", projects
    )

    assert [row[0] for row in found] == [rollout_bucket(project) for project in projects]


def test_half_of_all_projects_are_in_the_first_five_buckets() -> None:
    counts = Counter(rollout_bucket(project) for project in ids(20_000))

    share = sum(counts[bucket] for bucket in range(5)) / 20_000
    assert 0.48 < share < 0.52
    assert set(counts) == set(range(10))


async def test_10_percent_is_bucket_0_and_50_percent_are_0_to_4(product: Product) -> None:
    one_each = {rollout_bucket(project): project for project in ids(200)}
    await tasks.provision_workspace.using(run_in=86400 * 365).aenqueue(
        *ids(2)
    )  # the database learns of the flag
    await switch(product, enabled=True, percent=10)
    given = {bucket: await product.finalized(project=project) for bucket, project in sorted(one_each.items())}

    await product.work()
    at_10 = {bucket for bucket, one in given.items() if await product.has_access(one)}
    await switch(product, enabled=True, percent=50)
    await product.work()
    at_50 = {bucket for bucket, one in given.items() if await product.has_access(one)}
    await switch(product, enabled=True, percent=100)
    await product.work()

    assert (at_10, at_50) == ({0}, {0, 1, 2, 3, 4})
    assert all([await product.has_access(one) for one in given.values()])


def test_the_task_is_behind_the_switch_and_rolled_out_by_project() -> None:
    options = app.tasks["provision_workspace"].settings.options

    assert (options["flag"], options["rollout_by"]) == (FLAG, "project_id")
