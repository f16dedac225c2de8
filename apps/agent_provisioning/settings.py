"""What the product is told by its environment. Holdfast's own settings (HOLDFAST_…) are read by Holdfast."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast import Configuration

FEWEST_RETRIES, MOST_RETRIES = 3, 5


@dataclass(frozen=True, slots=True)
class Settings:
    """The outside world, and the few rules that may be changed."""

    public_url: str  # where browsers and workflows reach this product
    stripe_api: str
    stripe_key: str
    stripe_price: str
    github_api: str
    github_repository: str
    github_ref: str
    machines_url: str
    machines_token: str
    retries: int  # how often a person may retry, over all jobs of an agent
    plain_signature: bool  # whether old workflows, which sign their body only, may report

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Read the settings as they are now."""
        return cls(
            public_url=environment.get("PUBLIC_URL", "http://localhost:8000").rstrip("/"),
            stripe_api=environment.get("STRIPE_API_URL", "https://api.stripe.com"),
            stripe_key=environment.get("STRIPE_SECRET_KEY", ""),
            stripe_price=environment.get("STRIPE_PRICE", ""),
            github_api=environment.get("GITHUB_API_URL", "https://api.github.com"),
            github_repository=environment.get("PROVISION_REPOSITORY", "acme/agents"),
            github_ref=environment.get("PROVISION_REF", "main"),
            machines_url=environment.get("MACHINES_URL", ""),
            machines_token=environment.get("MACHINES_TOKEN", ""),
            retries=_retries(environment.get("PROVISION_RETRIES", str(FEWEST_RETRIES))),
            plain_signature=environment.get("PROVISION_PLAIN_SIGNATURE", "") == "on",
        )


def refuse_missing(settings: Settings) -> None:
    """Say what is missing when the server starts, and not when the first customer pays."""
    needed = {
        "STRIPE_SECRET_KEY": settings.stripe_key,
        "STRIPE_PRICE": settings.stripe_price,
        "MACHINES_URL": settings.machines_url,
    }
    if missing := [name for name, value in needed.items() if not value]:
        raise Configuration(f"set {', '.join(missing)}; the README says what they are")


def _retries(text: str) -> int:
    if text.isdecimal() and FEWEST_RETRIES <= int(text) <= MOST_RETRIES:
        return int(text)
    raise Configuration(f"PROVISION_RETRIES is {text!r}: it must be {FEWEST_RETRIES} to {MOST_RETRIES}")
