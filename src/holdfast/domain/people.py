"""People: what they may be called, which passwords are good enough, and how often somebody may try."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network

from holdfast.domain.errors import BadInput
from holdfast.domain.guessable import is_guessable

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 1000
_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,199}")
_HOME = 64  # the bits of an IPv6 address that one subscriber cannot change


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who may come with a password."""

    name: str
    role: str
    tenant: str | None
    created_at: datetime
    created_by: str
    disabled_at: datetime | None
    signed_in_at: datetime | None
    sessions: int


def read_name(text: str) -> str | None:
    """Read a person's name, whose capitals mean nothing; None when nobody can be called so."""
    name = text.strip().lower()
    return name if _NAME.fullmatch(name) else None


def require_name(text: str) -> str:
    """Read a person's name, or say what one looks like."""
    name = read_name(text)
    if name is None:
        raise BadInput(
            f"{text!r} is no name: letters, digits and . _ @ + - only, 200 at most, e.g. ann@example.com"
        )
    return name


def prepared(password: str) -> str:
    """Write a password in the one way that it is hashed in, whatever keyboard it was typed on."""
    return unicodedata.normalize("NFKC", password)


def refuse_weak_password(name: str, password: str) -> None:
    """Say what is wrong with a new password; which kinds of characters it has does not matter."""
    given = prepared(password)
    if len(given) < SHORTEST_PASSWORD:
        raise BadInput(f"the password has {len(given)} characters; at least {SHORTEST_PASSWORD} are needed")
    if len(given) > LONGEST_PASSWORD:
        raise BadInput(f"the password has more than {LONGEST_PASSWORD:,} characters")
    plain = given.lower()
    owner = name.partition("@")[0]
    if plain.replace(owner, "").strip("0123456789.!") == "" or plain.strip("0123456789.!") == name:
        raise BadInput("the password is the person's own name")
    if is_guessable(given):
        raise BadInput(
            "the password is one of those that are tried first; take a few words that do not belong together"
        )


@dataclass(frozen=True, slots=True)
class Bucket:
    """So many tries, which come back evenly over a period."""

    name: str
    tries: int
    period: timedelta


def buckets(name: str, address: str | None, device: bytes | None) -> Sequence[Bucket]:
    """Give the buckets that a try to log in is taken from.

    Who comes from a device where the person has logged in before has a bucket of their own: strangers, however many
    and wherever they are, cannot use up its tries and so cannot lock anybody out.
    """
    if device is not None:
        return [_bucket(10, timedelta(minutes=10), "device", device.hex())]
    home = home_of(address)
    return [
        _bucket(5, timedelta(minutes=5), "name and address", name, home),
        _bucket(30, timedelta(minutes=5), "address", home),
        _bucket(50, timedelta(hours=1), "name", name),
    ]


def _bucket(tries: int, period: timedelta, *parts: str) -> Bucket:
    said = "\x00".join(parts)
    return Bucket(hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest(), tries, period)


def home_of(address: str | None) -> str:
    """Tell where somebody is, as far as it costs them something to be elsewhere."""
    try:
        found = ip_address((address or "").partition("%")[0])
    except ValueError:
        return "nowhere"
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ip_network((found, _HOME), strict=False))
    return str(found)
