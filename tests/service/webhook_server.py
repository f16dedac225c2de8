"""A webhook's server as a process of its own, to be attacked and killed: prints its port when it listens."""

import asyncio
import socket
from typing import Any

import uvicorn

from holdfast import Holdfast
from holdfast.interfaces.http import webhooks as door
from holdfast.runtime import failpoints
from holdfast.server import Stripe, WebhookEvent, webhooks

SLOWEST = 1.0

app = Holdfast()


@app.task()
async def provision(agent_id: str) -> None:
    """Stand for work."""


async def paid(event: WebhookEvent, conn: Any) -> None:
    """Queue a job."""
    await provision.using(conn=conn).aenqueue(event.id)


app.webhook("stripe", verify=Stripe(), on={"*": paid})


def main() -> None:
    """Serve until killed."""
    failpoints.arm_from_environment()
    door.SLOWEST_BODY = SLOWEST
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)  # noqa: T201 - for the test that started it
        config = uvicorn.Config(webhooks(app), log_level="critical")
        asyncio.run(uvicorn.Server(config).serve([listening]))


if __name__ == "__main__":
    main()
