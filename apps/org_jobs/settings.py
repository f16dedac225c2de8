"""What the environment says."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast import Configuration

TICK_JOBS = 25


@dataclass(frozen=True, slots=True)
class Settings:
    """How the web behaves."""

    is_production: bool = True
    tick_enabled: bool = False
    tick_jobs: int = TICK_JOBS
    operator_token: str | None = field(default=None, repr=False)

    @property
    def may_tick(self) -> bool:
        """Whether there is a tick at all."""
        return self.tick_enabled or not self.is_production

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """Read APP_ENV, JOBS_TICK, JOBS_TICK_JOBS and OPERATOR_TOKEN; who does not say where this is, is in production."""
        return cls(
            is_production=_choice(environment, "APP_ENV", "production", "development"),
            tick_enabled=not _choice(environment, "JOBS_TICK", "off", "on"),
            tick_jobs=_count(environment, "JOBS_TICK_JOBS", TICK_JOBS),
            operator_token=environment.get("OPERATOR_TOKEN") or None,
        )


def _choice(environment: Mapping[str, str], name: str, usual: str, other: str) -> bool:
    value = environment.get(name, usual)
    if value not in {usual, other}:
        raise Configuration(f"{name}={value!r}: set it to {usual} or {other}")
    return value == usual


def _count(environment: Mapping[str, str], name: str, usual: int) -> int:
    value = environment.get(name, str(usual))
    if not value.isdecimal() or int(value) < 1:
        raise Configuration(f"{name}={value!r}: set it to a whole number of at least 1")
    return int(value)
