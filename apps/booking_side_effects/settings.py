"""What the environment says; read anew by every job and every request, so that a switch counts from then on."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast import Configuration

SHORTEST_SECRET = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of the product."""

    public_url: str  # what links in e-mails begin with
    link_secret: str  # signs the links to invoices
    cron_secret: str | None  # without one, the cron route refuses everybody
    invoicing_enabled: bool
    invoicing_url: str
    invoicing_key: str
    invoicing_timeout: float
    document_type: str
    send_emails: bool
    smtp_host: str
    smtp_port: int
    smtp_user: str | None
    smtp_password: str | None
    smtp_timeout: float
    email_from: str
    email_admin_to: tuple[str, ...]

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Read them, and say which is missing or makes no sense."""
        document_type = environment.get("INVOICING_DOCUMENT_TYPE", "FR")
        if document_type not in {"FR", "FT"}:
            raise Configuration(f"INVOICING_DOCUMENT_TYPE is {document_type!r}: it must be FR or FT")
        return cls(
            public_url=_required(environment, "PUBLIC_URL").rstrip("/"),
            link_secret=_secret(environment, "PDF_LINK_SECRET"),
            cron_secret=_secret(environment, "CRON_SECRET") if "CRON_SECRET" in environment else None,
            invoicing_enabled=environment.get("INVOICING_ENABLED") == "true",
            invoicing_url=environment.get("INVOICING_URL", "").rstrip("/"),
            invoicing_key=environment.get("INVOICING_KEY", ""),
            invoicing_timeout=float(environment.get("INVOICING_TIMEOUT", "10")),
            document_type=document_type,
            send_emails=environment.get("SEND_EMAILS") == "true",
            smtp_host=environment.get("SMTP_HOST", "127.0.0.1"),
            smtp_port=int(environment.get("SMTP_PORT", "25")),
            smtp_user=environment.get("SMTP_USER"),
            smtp_password=environment.get("SMTP_PASSWORD"),
            smtp_timeout=float(environment.get("SMTP_TIMEOUT", "20")),
            email_from=environment.get("EMAIL_FROM", "bookings@example.com"),
            email_admin_to=_listed(environment.get("EMAIL_ADMIN_TO", "")),
        )


def _required(environment: Mapping[str, str], name: str) -> str:
    if not environment.get(name):
        raise Configuration(f"{name} is not set")
    return environment[name]


def _secret(environment: Mapping[str, str], name: str) -> str:
    secret = _required(environment, name)
    if len(secret) < SHORTEST_SECRET:
        raise Configuration(f"{name} is too short: use at least {SHORTEST_SECRET} characters")
    return secret


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
