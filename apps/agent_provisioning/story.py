"""What a customer lives through: an agent that gets its machine, and one whose first machine had to be cleaned away."""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from apps._stage import Stage, until, verify
from apps._world import github, machines, stripe
from apps._world.github import CALLBACK_SECRET, GitHub
from apps._world.machines import Machines
from apps._world.script import Script
from apps._world.serving import NO_TLS
from apps._world.stripe import Stripe
from apps.agent_provisioning.app import app

WORKFLOW = Path(__file__).with_name("provision-agent.yml")
MASTER_KEY = secrets.token_hex(32)  # one a process: the doors read it when they are made
PRICE = "price_agent_monthly"


@dataclass(frozen=True, slots=True)
class World:
    """Who the product deals with."""

    stripe: Stripe
    github: GitHub
    machines: Machines

    @property
    def environment(self) -> dict[str, str]:
        """The settings that point the product at this world."""
        return {
            "STRIPE_API_URL": self.stripe.url,
            "STRIPE_SECRET_KEY": stripe.KEY,
            "STRIPE_PRICE": PRICE,
            "GITHUB_API_URL": self.github.url,
            "MACHINES_URL": self.machines.url,
            "MACHINES_TOKEN": machines.TOKEN,
            "HOLDFAST_GITHUB_TOKEN": github.TOKEN,
            "HOLDFAST_OUTBOUND_ALLOW": "127.0.0.0/8",
            "HOLDFAST_SECRET_KEY": MASTER_KEY,
            "HOLDFAST_WEBHOOK_SECRET_STRIPE": stripe.SECRET,
        }

    def connect(self, stage: Stage) -> None:
        """Do what an operator does once: tell Stripe where to send events, and give the repository its secret."""
        self.stripe.endpoint = f"{stage.url}/api/webhooks/stripe"
        self.github.known[CALLBACK_SECRET] = app.executors["github"].secrets()[0]


@contextmanager
def world(github_script: Script | None = None, machines_script: Script | None = None) -> Iterator[World]:
    """Run Stripe, the provider of machines, and GitHub with this product's workflow."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        stripe.simulated() as payments,
        machines.simulated(machines_script) as provider,
        github.simulated(Path(folder), workflow=WORKFLOW, script=github_script) as repository,
    ):
        repository.known |= {"vars.MACHINES_URL": provider.url, "secrets.MACHINES_TOKEN": machines.TOKEN}
        yield World(payments, repository, provider)


class User:
    """Somebody with a browser, who is logged in."""

    def __init__(self, stage: Stage, world: World, name: str) -> None:
        self.stage, self._world = stage, world
        self.name = name
        with app.transaction() as connection:
            connection.execute(
                "insert into agent_provisioning.customer (user_id, stripe_customer) values (%s, %s)",
                (name, f"cus_{name}"),
            )

    async def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """Ask the product for something."""
        async with httpx.AsyncClient(
            base_url=self.stage.url, headers={"X-User-Id": self.name}, timeout=30, verify=NO_TLS
        ) as browser:
            return await browser.request(method, path, json=body)

    async def finish_wizard(self, name: str, region: str = "fsn1") -> httpx.Response:
        """Finish the wizard's step 4."""
        return await self.ask("POST", "/api/wizard/4", {"name": name, "region": region})

    async def draft(self, name: str, region: str = "fsn1") -> tuple[str, dict[str, Any]]:
        """Finish the wizard; gives the agent's id, and the event of its payment, which is not sent yet."""
        answer = (await self.finish_wizard(name, region)).raise_for_status().json()
        return answer["agentId"], self._world.stripe.paid(answer["checkoutUrl"].rsplit("/", 1)[1])

    async def buy(self, name: str, region: str = "fsn1") -> str:
        """Finish the wizard and pay; gives the agent's id when the product knows of the payment."""
        agent_id, event = await self.draft(name, region)
        await self._world.stripe.deliver(event)
        return agent_id

    async def look(self, agent_id: str) -> dict[str, Any]:
        """Look at the dashboard."""
        found: dict[str, Any] = (
            (await self.ask("GET", f"/api/agents/{agent_id}/provision")).raise_for_status().json()
        )
        return found

    async def retry(self, agent_id: str) -> httpx.Response:
        """Press the button of a failed agent."""
        return await self.ask("POST", f"/api/agents/{agent_id}/provision/retry")

    async def until(self, agent_id: str, *states: str) -> dict[str, Any]:
        """Look at the dashboard until it shows one of these states."""

        async def shown() -> dict[str, Any] | None:
            found = await self.look(agent_id)
            return found if found["state"] in states else None

        found: dict[str, Any] = await until(f"agent {agent_id} is {' or '.join(states)}", shown)
        return found


async def happy(stage: Stage, world: World) -> str:
    """Pay once, be told of it three times, and get one machine."""
    world.connect(stage)
    ana = User(stage, world, "ana")
    agent_id, event = await ana.draft("Atlas", "hel1")
    verify((await ana.look(agent_id))["state"] == "draft", "an agent is not a draft before it is paid")

    answers = await world.stripe.send(event, times=3)
    verify(answers == [200, 200, 200], f"Stripe was answered {answers}")
    shown = await ana.until(agent_id, "running")

    (dispatch,) = world.github.dispatches()
    verify(
        set(dispatch["inputs"]) == {"job_id", "agent_id", "region", "callback_url"},
        f"the workflow got the inputs {sorted(dispatch['inputs'])}",
    )
    found = world.machines.of(agent_id)
    verify([one["region"] for one in found] == ["hel1"], f"the provider has {found}")
    return f"one payment told three times, one dispatch, run {shown['workflowRunId']} reported, one machine in hel1: running"


async def failing(stage: Stage, world: World) -> str:
    """Lose the provider's answer: the machine exists and nobody knows it, until it is cleaned away; then retry by hand."""
    world.connect(stage)
    ben = User(stage, world, "ben")
    world.machines.script.tell("lost")
    agent_id = await ben.buy("Boreas")

    failed = await ben.until(agent_id, "failed")
    verify(failed["failedStep"] == "create the machine", f"the step is said to be {failed['failedStep']}")
    accepted = await ben.retry(agent_id)
    verify(accepted.status_code == httpx.codes.ACCEPTED, f"a retry was answered {accepted.text}")
    shown = await ben.until(agent_id, "running")

    verify(len(world.machines.deleted) == 1, "the orphaned machine was not deleted")
    verify(len(world.machines.of(agent_id)) == 1, "there is not exactly one machine")
    verify(shown["retriesLeft"] == failed["retriesLeft"] - 1, "the retry was not counted")
    return f"run {failed['workflowRunId']} failed at {failed['failedStep']!r}, its orphan was deleted, the retry runs"
