"""Settings and where each came from: flag, then environment, then holdfast.toml or pyproject.toml, then the default."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.domain.errors import Configuration
from holdfast.domain.served import written_served

DEFAULTS: dict[str, str | None] = {
    "allowed_hosts": None,
    "app": None,
    "base_url": None,
    "database_url": None,
    "environment": None,
    "hide_args": "0",
    "queues": None,
    "concurrency": "50",
    "lease": "30",
    "drain_timeout": "25",
    "log_format": "text",
    "log_level": "info",
    "rate_limit": "500",
    "require_roles": "0",
    "host": "127.0.0.1",
    "port": "7070",
    "parts": None,
    "processes": "1",
    "trusted_proxies": None,
    "tick_jobs": "100",
    "tick_seconds": "20",
}
# What hosts that run programs for others set; ours wins.
COMMON_VARIABLES = {"port": "PORT"}


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and who said so."""

    name: str
    value: str | None
    source: str


class Settings:
    """All settings of one invocation."""

    def __init__(self, flags: Mapping[str, str], environment: Mapping[str, str], folder: Path) -> None:
        self._flags = flags
        self._environment = environment
        self._file, self._file_name = _read_file(folder)

    def get(self, name: str) -> Setting:
        """Look a setting up."""
        variable = f"HOLDFAST_{name.upper()}"
        if name in self._flags:
            return Setting(name, self._flags[name], f"--{name.replace('_', '-')}")
        if self._environment.get(variable):
            return Setting(name, self._environment[variable], variable)
        if name in self._file:
            return Setting(name, self._file[name], self._file_name)
        common = COMMON_VARIABLES.get(name, "")
        if self._environment.get(common):
            return Setting(name, self._environment[common], common)
        return Setting(name, DEFAULTS[name], "default")

    def text(self, name: str) -> str | None:
        """Look a text up."""
        return self.get(name).value

    def flag(self, name: str) -> str | None:
        """Look up only what was given as a flag."""
        return self._flags.get(name)

    def from_file(self, name: str) -> Setting | None:
        """Look up only what a file says."""
        return Setting(name, self._file[name], self._file_name) if name in self._file else None

    def number(self, name: str, least: float) -> float:
        """Look a number up."""
        setting = self.get(name)
        try:
            value = float(setting.value or "")
        except ValueError:
            raise _unfit(setting, "is not a number") from None
        if not value >= least:
            raise _unfit(setting, f"is less than {least:g}")
        return value

    def whole(self, name: str, least: int) -> int:
        """Look a whole number up."""
        value = self.number(name, least)
        if value != int(value):
            raise _unfit(self.get(name), "is not a whole number")
        return int(value)

    def choice(self, name: str, *choices: str) -> str:
        """Look up one of a few words."""
        setting = self.get(name)
        value = (setting.value or "").lower()
        if value not in choices:
            raise _unfit(setting, f"is not one of {', '.join(choices)}")
        return value

    def is_on(self, name: str) -> bool:
        """Look a switch up."""
        return (self.text(name) or "").lower() in {"1", "true", "yes", "on"}


def _unfit(setting: Setting, problem: str) -> Configuration:
    return Configuration(f"{setting.name} = {setting.value!r} (from {setting.source}) {problem}")


def _read_file(folder: Path) -> tuple[dict[str, str], str]:
    for name, path in (("holdfast.toml", ()), ("pyproject.toml", ("tool", "holdfast"))):
        table = _table(folder / name, path)
        if table is not None:
            told = name if not path else f"{name} [{'.'.join(path)}]"
            return {key: _as_text(key, value, told) for key, value in table.items()}, told
    return {}, ""


def _table(file: Path, path: tuple[str, ...]) -> dict[str, Any] | None:
    try:
        table: Any = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Configuration(f"{file} cannot be read: {error}") from error
    for step in path:
        table = table.get(step)
        if table is None:
            return None
    return dict(table)


def _as_text(key: str, value: Any, told: str) -> str:
    if key not in DEFAULTS:
        raise Configuration(
            f"{told} sets {key!r}, which is no setting; known are: {', '.join(sorted(DEFAULTS))}"
        )
    if key == "queues" and isinstance(value, dict):
        return written_served(value)
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, str | int | float):
        return str(value)
    raise Configuration(f"{told} sets {key} to {value!r}: it takes a text, a number or true/false")
