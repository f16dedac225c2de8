"""The composition: where messages go and what is watched."""

from datetime import timedelta
from pathlib import Path

from apps.workspace_access import logs
from apps.workspace_access.settings import Settings
from holdfast import CompensationFailed, Email, Holdfast, SuccessRate

MAIL = "email"

settings = Settings.read()
app = Holdfast()
app.alerts.to(
    Email(settings.smtp_host, settings.smtp_port, sender=settings.sender, to=settings.admins), name=MAIL
)
app.alerts.rule(
    "workspace access: success rate",
    SuccessRate(below=0.95, within=timedelta(hours=24), task=logs.PROVISIONING, at_least=1),
    severity="critical",
)
app.alerts.rule(
    "workspace access: not rolled back", CompensationFailed(task=logs.PROVISIONING), severity="critical"
)
logs.listen()


def prepare() -> None:
    """Make the product's tables; its schema must be there."""
    with app.transaction() as connection:
        connection.execute(Path(__file__).with_name("schema.sql").read_text("utf-8"))
