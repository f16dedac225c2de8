"""Passwords: argon2id, in threads, and only a few at once."""

import asyncio
from functools import cache
from typing import TYPE_CHECKING

from holdfast.domain.errors import Configuration
from holdfast.domain.people import LONGEST_PASSWORD, prepared

if TYPE_CHECKING:
    from argon2 import PasswordHasher

AT_ONCE = 2
MOST_WAITING = 32


class Overrun(Exception):
    """More passwords wait to be looked at than this process should answer for."""


class Passwords:
    """Hashes passwords and tells whether one is right.

    Each costs 46 MiB while it is looked at, so few are looked at at once, and a flood of them is turned away.
    """

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    def hashed(self, password: str) -> str:
        """Hash a new password."""
        return _hasher().hash(prepared(password))

    async def matches(self, password: str, hashed: str | None) -> bool:
        """Whether a password is right; nobody's password, which None is, costs what a wrong one costs."""
        if self._waiting >= MOST_WAITING:
            raise Overrun
        self._waiting += 1
        try:
            async with self._places:
                return await asyncio.to_thread(self._matches, password[: LONGEST_PASSWORD + 1], hashed)
        finally:
            self._waiting -= 1

    def _matches(self, password: str, hashed: str | None) -> bool:
        from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415 - an extra

        nobodys = _nobodys()  # whoever comes first: otherwise the first stranger would pay for making it
        try:
            _hasher().verify(hashed or nobodys, prepared(password))
        except (VerificationError, InvalidHashError):
            return False
        return hashed is not None

    async def renewed(self, password: str, hashed: str) -> str | None:
        """Hash a right password anew, if its hash is of former costs."""
        return (
            await asyncio.to_thread(self.hashed, password) if _hasher().check_needs_rehash(hashed) else None
        )


@cache
def _hasher() -> "PasswordHasher":
    try:
        from argon2 import PasswordHasher  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise Configuration("people need argon2: pip install 'holdfast[server]'") from error
    return PasswordHasher(time_cost=1, memory_cost=46 * 1024, parallelism=1)


@cache
def _nobodys() -> str:
    return _hasher().hash("nobody has this password")
