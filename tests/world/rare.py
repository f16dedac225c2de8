"""Whose findings may be rare: scripts/test gives them no second chance, as it does to what a busy machine may have failed.

Told by the path, by the mutants that need several strikes to be seen, and by what the source of a test does, so that no race is
forgotten; only what meets in another way is named here.
"""

import re
from functools import cache
from pathlib import Path

from guarantees.mutation import mutants

ROOT = Path(__file__).resolve().parents[2]

# A finding of chaos, of the search through interleavings, of a race or of a random life may be rare: it is no luck. The products'
# own chaos may be tried again: it waits a minute for other processes, which a very busy machine can miss.
NAMED = (
    "tests/chaos/",
    "tests/interleaving/",
    "tests/embedded/test_sharing.py::test_processes_that_start_together_get_one_server",
    "tests/executors/test_callback_attacks.py",
    "tests/guarantees/test_mixed.py",
    "tests/guarantees/test_once.py",
    "tests/runtime/test_schedules.py::test_three_workers_at_once_give_every_time_one_job",
    "tests/service/test_approval_page.py::test_of_clicks_at_once_one_counts_and_the_others_learn_who_it_was",
    "tests/service/test_core.py",
    "tests/service/test_deliveries.py::test_a_replay_handles_it_again_once_a_request_and_is_in_the_audit",
    "tests/service/test_keys.py::test_two_keys_of_a_name_count_at_most_also_when_asked_at_once",
    "tests/service/test_sessions.py::test_tries_at_once_are_as_many_tries",
    "tests/service/test_tick.py::test_one_tick_at_a_time",
    "tests/service/test_tick.py::test_ticks_of_one_process_exclude_each_other_however_they_are_begun",
    "tests/service/test_webhooks.py",
    "tests/sql/test_model.py",
    "apps/agent_provisioning/tests/test_one_at_a_time.py",
    "apps/agent_provisioning/tests/test_payment.py::test_the_same_event_makes_one_job_however_often_and_however_concurrently",
    "apps/agent_provisioning/tests/test_retry.py::test_of_two_retries_at_once_one_is_refused",
    "apps/booking_side_effects/tests/test_cron.py::test_workers_cron_and_kick_are_safe_together",
    "apps/booking_side_effects/tests/test_jobs.py::test_the_database_keeps_it_to_one_job_when_many_create_at_once",
    "apps/booking_side_effects/tests/test_operator.py::test_of_two_who_ask_at_once_one_is_refused_and_one_e_mail_goes_out",
    "apps/booking_side_effects/tests/test_payment.py::test_events_that_come_again_and_at_once_make_nothing_twice",
    "apps/workspace_access/tests/test_events.py::test_numbers_are_strictly_increasing_also_when_many_publish_at_once",
    "apps/workspace_access/tests/test_matches.py::test_approvals_at_the_same_moment_finalize_once",
    "apps/workspace_access/tests/test_operations.py::test_an_operator_and_a_job_at_the_same_moment_let_in_once",
    "apps/workspace_access/tests/test_provisioning.py::test_a_double_click_returns_the_same_job",
    "apps/workspace_access/tests/test_provisioning.py::test_several_instances_never_do_the_same_twice",
)
# Threads that meet, tries that are counted, or the races on the server. A pool of one thread only waits beside its test.
RACES = re.compile(
    r"\bBarrier\(|\bThreadPoolExecutor\((?!1\))|\bimport strikes\b|\bfrom sql\.racing import\b"
)


def may_be_rare(nodeid: str) -> bool:
    """Say whether a failure of this test may be one that hardly ever shows."""
    file = nodeid.partition("::")[0]
    return nodeid.startswith((*NAMED, *_need_several_strikes())) or file.endswith("_races.py") or _races(file)


@cache
def _need_several_strikes() -> frozenset[str]:
    """Give the files of the tests that see a missing guard after some tries only."""
    return frozenset(mutant.dies.partition("::")[0] for mutant in mutants() if mutant.strikes > 1)


@cache
def _races(file: str) -> bool:
    source = ROOT / file
    return source.is_file() and RACES.search(source.read_text("utf-8")) is not None
