"""The order of the tests: those that take long come first, or every process but one would wait for the last of them."""

from collections.abc import Sequence
from itertools import islice

import pytest

# They share a browser and a shop, which are made once where one process runs all of them.
BROWSER = "tests/dashboard/browser/"
# They start processes by the dozen, and kill them.
LONG = (
    "apps/agent_provisioning/tests/test_chaos.py",
    "apps/agent_provisioning/tests/test_story.py",
    "apps/agent_workflows/tests/test_chaos.py",
    "apps/agent_workflows/tests/test_story.py",
    "apps/booking_side_effects/tests/test_chaos.py",
    "apps/booking_side_effects/tests/test_story.py",
    "apps/org_jobs/tests/test_chaos.py",
    "apps/org_jobs/tests/test_story.py",
    "apps/tests/test_demo.py",
    "apps/tests/test_live.py",
    "apps/workspace_access/tests/test_story.py",
    "tests/chaos/test_quick.py",
    "tests/deploying/test_running.py",
    "tests/guarantees/test_alerts.py",
    "tests/guarantees/test_approvals.py",
    "tests/guarantees/test_bulk.py",
    "tests/guarantees/test_controls.py",
    "tests/guarantees/test_database_away.py",
    "tests/guarantees/test_flows.py",
    "tests/guarantees/test_poison.py",
    "tests/guarantees/test_schedules.py",
    "tests/guarantees/test_steps.py",
    "tests/integrations/test_django_project.py",
    "tests/interfaces/test_demo.py",
)


def long_first(items: Sequence[pytest.Item], processes: int) -> list[pytest.Item]:
    """Put what takes long to the front of each process' share: pytest-xdist cuts the list into equal parts."""
    browser = [item for item in items if item.nodeid.startswith(BROWSER)]
    long = [item for item in items if item.nodeid.startswith(LONG)]
    rest = iter([item for item in items if not item.nodeid.startswith((BROWSER, *LONG))])
    shares = [browser, *_in_parts(long, processes - 1)] if processes > 1 else [browser + long]
    ordered: list[pytest.Item] = []
    for number, first in enumerate(shares):
        size = (len(items) - len(ordered)) // (processes - number)
        ordered += [*first, *islice(rest, max(size - len(first), 0))]
    return ordered


def _in_parts(items: list[pytest.Item], parts: int) -> list[list[pytest.Item]]:
    """Deal modules out in turn: what one has made for its tests is made once."""
    modules = list(dict.fromkeys(item.nodeid.partition("::")[0] for item in items))
    turns = {module: number % parts for number, module in enumerate(modules)}
    return [
        [item for item in items if turns[item.nodeid.partition("::")[0]] == number] for number in range(parts)
    ]
