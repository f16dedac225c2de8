"""Secrets from the environment: the master key that executors' secrets are derived from. Read when needed, kept nowhere."""

import os
from collections.abc import Mapping
from pathlib import Path

from holdfast.domain.errors import Configuration
from holdfast.domain.signature import executor_secret, refuse_weak

MASTER_KEY = "HOLDFAST_SECRET_KEY"
PREVIOUS_KEY = "HOLDFAST_SECRET_KEY_PREVIOUS"


def master_keys(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Give the master key and, while keys overlap, the one before it; none when none is configured."""
    found = [(name, read_secret(name, environment)) for name in (MASTER_KEY, PREVIOUS_KEY)]
    return [refuse_weak(name, key) for name, key in found if key is not None]


def read_secret(name: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Read a secret from a variable, or from the file that its _FILE sibling names."""
    if value := environment.get(name):
        return value
    path = environment.get(name + "_FILE")
    if not path:
        return None
    try:
        secret = Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Configuration(f"{name}_FILE names {path}, which cannot be read: {error}") from error
    if not secret:
        raise Configuration(f"{name}_FILE names {path}, which is empty")
    return secret


def derived_secrets(executor: str, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Derive an executor's secrets, the current one first."""
    keys = master_keys(environment)
    if not keys:
        raise Configuration(
            f"executor {executor!r} has no secret: set {MASTER_KEY} (openssl rand -hex 32), or give the executor secret=…"
        )
    return [executor_secret(key, executor) for key in keys]
