"""What the environment says; a wrong word stops the start and is named."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast import Configuration

FEWEST_RETRIES, MOST_RETRIES = 1, 10


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set; ADVISOR_AUTO_PROVISION is the engine's to read."""

    retries: int = 3
    smtp_host: str = "localhost"
    smtp_port: int = 25
    sender: str = "Workspaces <workspaces@example.com>"
    admins: tuple[str, ...] = ("admins@example.com",)

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Read them."""
        usual = cls()
        return cls(
            retries=_number(environment, "ADVISOR_RETRIES", usual.retries, FEWEST_RETRIES, MOST_RETRIES),
            smtp_host=environment.get("SMTP_HOST", usual.smtp_host),
            smtp_port=_number(environment, "SMTP_PORT", usual.smtp_port, 1, 65535),
            sender=environment.get("MAIL_SENDER", usual.sender),
            admins=tuple(one.strip() for one in environment.get("ADMIN_EMAILS", "").split(",") if one.strip())
            or usual.admins,
        )


def _number(environment: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    said = environment.get(name, str(default))
    if not said.isdecimal() or not least <= int(said) <= most:
        raise Configuration(f"{name}={said!r}: give a number from {least} to {most}")
    return int(said)
