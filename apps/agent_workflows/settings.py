"""What the environment says."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast import Configuration


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the tools are, who may come, and how approvers are reached."""

    tools_url: str
    tool_timeout: float
    users: Mapping[str, str]  # bearer token → who that is
    smtp_host: str | None
    smtp_port: int
    mail_sender: str

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Read TOOLS_URL, TOOL_TIMEOUT, CONTROL_PLANE_USERS, SMTP_HOST, SMTP_PORT and MAIL_SENDER."""
        try:
            return cls(
                tools_url=environment.get("TOOLS_URL", "http://127.0.0.1:8700"),
                tool_timeout=float(environment.get("TOOL_TIMEOUT", "10")),
                users=dict(json.loads(environment.get("CONTROL_PLANE_USERS", "{}"))),
                smtp_host=environment.get("SMTP_HOST"),
                smtp_port=int(environment.get("SMTP_PORT", "587")),
                mail_sender=environment.get("MAIL_SENDER", "agents@example.org"),
            )
        except (ValueError, TypeError) as error:
            raise Configuration(
                f"{error}: TOOL_TIMEOUT and SMTP_PORT are numbers, CONTROL_PLANE_USERS is JSON like "
                '{"token": "ann@example.org"}'
            ) from error
