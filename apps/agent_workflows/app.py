"""The application: its database, and the mail that asks approvers."""

from pathlib import Path

from apps.agent_workflows.settings import Settings
from holdfast import Email, Holdfast

app = Holdfast()

_settings = Settings.read()
if _settings.smtp_host is not None:
    # Approvers that are named by an address get a link to the approval page, each with a secret of their own.
    mail = Email(_settings.smtp_host, _settings.smtp_port, sender=_settings.mail_sender)
    app.alerts.to(mail, name="agents-mail")  # names are shared by all apps of a database


def prepare() -> None:
    """Make the product's own tables; safe to repeat. `holdfast db migrate` makes Holdfast's."""
    with app.transaction() as connection:
        connection.execute(Path(__file__).with_name("schema.sql").read_text("utf-8"))
