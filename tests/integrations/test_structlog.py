"""What structlog's own capture shows of lines that tasks write."""

import pytest
import structlog
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from holdfast import Holdfast
from holdfast.contrib.structlog import bind_jobs
from world.draining import drain


@pytest.mark.parametrize("tenant", ["acme", None])
def test_every_line_says_which_job_it_belongs_to(app: Holdfast, tenant: str | None) -> None:
    bind_jobs(app)
    log = structlog.get_logger()

    @app.task()
    async def on_the_loop() -> None:
        await log.ainfo("charging")

    @app.task()
    def in_a_thread() -> None:
        log.info("charging")

    handles = {task.name: task.using(tenant=tenant).enqueue() for task in (on_the_loop, in_a_thread)}
    with capture_logs(processors=[merge_contextvars]) as lines:
        drain(app)
        log.info("outside")

    whose = {} if tenant is None else {"tenant": tenant}
    common = {"event": "charging", "log_level": "info", "attempt": 1, **whose}
    wanted = [{**common, "task": name, "job_id": str(handle.id)} for name, handle in sorted(handles.items())]
    assert sorted(lines[:-1], key=lambda line: str(line["task"])) == wanted
    assert lines[-1] == {"event": "outside", "log_level": "info"}
