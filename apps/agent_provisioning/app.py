"""The composition: the app, the workflow that builds machines, and the product's own tables."""

from pathlib import Path
from typing import Any

from apps.agent_provisioning.settings import Settings
from holdfast import GitHubActions, Holdfast

app = Holdfast()


class ProvisionAgent(GitHubActions):
    """The workflow; its runs report to an address of this product's own, which ends with the attempt's public token."""

    def callback_url(self, token: Any) -> str:
        """Say where the runs of an attempt report to."""
        return f"{Settings.read().public_url}/api/webhooks/github/{token.path}"


def workflow(settings: Settings) -> ProvisionAgent:
    """Make the executor; GitHub's token is read from HOLDFAST_GITHUB_TOKEN when it is called."""
    owner, _, repository = settings.github_repository.partition("/")
    return ProvisionAgent(
        owner,
        repository,
        "provision-agent.yml",
        ref=settings.github_ref,
        api_url=settings.github_api,
        plain_signature=settings.plain_signature,
    )


app.executor(workflow(Settings.read()))


def prepare() -> None:
    """Make the product's own tables; may be repeated."""
    with app.transaction() as connection:
        connection.execute(Path(__file__).with_name("schema.sql").read_text("utf-8"))
