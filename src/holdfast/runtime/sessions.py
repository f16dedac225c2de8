"""Logging in and out: whoever fails learns that it failed, and nothing about whom they tried to be."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from holdfast.domain.access import DEVICE_PREFIX, SESSION_PREFIX, Cookie, Principal
from holdfast.domain.people import Bucket, buckets, read_name
from holdfast.runtime.access import Linked, new_cookie
from holdfast.runtime.logs import events
from holdfast.runtime.passwords import Overrun, Passwords
from holdfast.store import people
from holdfast.store.access import record_action

_SOON = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Arrival:
    """What somebody brings who wants to log in."""

    name: str
    address: str | None
    session: Cookie | None = None  # whatever the browser had; it ends
    device: Cookie | None = None


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A session has begun."""

    person: str
    session: Cookie
    device: Cookie


@dataclass(frozen=True, slots=True)
class Refused:
    """Name or password is wrong, or the person is disabled: nobody is told which."""


@dataclass(frozen=True, slots=True)
class TooManyTries:
    """The password was not even looked at."""

    wait: timedelta


Login: TypeAlias = LoggedIn | Refused | TooManyTries


class Sessions:
    """Lets people in and out."""

    def __init__(self, app: Linked) -> None:
        self._app = app
        self._passwords = Passwords()

    async def log_in(self, arrival: Arrival, password: str) -> Login:
        """Begin a session, if the password is right and not too many were tried.

        A stranger's name takes the same way as a person's: as many tries, as much work, the same answers.
        """
        link = self._app.link
        name = read_name(arrival.name)
        known = await link.aperform(people.find_person(name or "", arrival.device))
        device = arrival.device if known is not None and known.is_known_device else None
        tried = buckets(name or arrival.name, arrival.address, None if device is None else device.digest)
        wait = await link.aperform_once(people.take_tries(tried))
        if wait is not None:
            return self._turned_away(arrival, wait, is_known=known is not None)
        try:
            is_right = await self._passwords.matches(password, None if known is None else known.password)
        except Overrun:
            return self._turned_away(arrival, _SOON, is_known=known is not None)
        if name is None or known is None or not is_right:
            return self._refused(arrival, is_known=known is not None)
        renewed = await self._passwords.renewed(password, known.password)
        made = await self._begun(arrival, name, known, device, tried, renewed)
        return made or self._refused(arrival, is_known=True)

    async def let_in(self, arrival: Arrival) -> LoggedIn | Refused:
        """Begin a session without a password, for who has proved otherwise who they are."""
        name = read_name(arrival.name)
        known = await self._app.link.aperform(people.find_person(name or "", arrival.device))
        if name is None or known is None:
            return self._refused(arrival, is_known=False)
        device = arrival.device if known.is_known_device else None
        made = await self._begun(arrival, name, known, device, by="link")
        return made or self._refused(arrival, is_known=True)

    async def _begun(
        self,
        arrival: Arrival,
        name: str,
        known: people.Known,
        device: Cookie | None,
        tried: Sequence[Bucket] = (),
        renewed: str | None = None,
        by: str | None = None,
    ) -> LoggedIn | None:
        """Begin a session; None when the person is disabled, or has another password since."""
        made = LoggedIn(name, new_cookie(SESSION_PREFIX), device or new_cookie(DEVICE_PREFIX))
        async with self._app.link.atransaction() as transaction:
            has_begun = await transaction.perform(
                people.begin_session(
                    name, known, renewed, made.session, arrival.session, made.device, arrival.address, tried
                )
            )
            if not has_begun:
                return None
            who, told = Principal(name, frozenset()), None if by is None else {"by": by}
            await transaction.perform(record_action(who, arrival.address, "person.login", name, None, told))
        events.info("login", extra={"person": name, "address": arrival.address})
        return made

    async def log_out(self, session: Cookie, address: str | None) -> None:
        """End a session; one that nobody has ends too."""
        async with self._app.link.atransaction() as transaction:
            name = await transaction.perform(people.end_session(session))
            if name is not None:
                who = Principal(name, frozenset())
                await transaction.perform(record_action(who, address, "person.logout", name, None, None))

    def _refused(self, arrival: Arrival, *, is_known: bool) -> Refused:
        events.warning("login:refused", extra=_told(arrival, is_known=is_known))
        return Refused()

    def _turned_away(self, arrival: Arrival, wait: timedelta, *, is_known: bool) -> TooManyTries:
        events.warning("login:too-many", extra=_told(arrival, is_known=is_known))
        return TooManyTries(wait)


def _told(arrival: Arrival, *, is_known: bool) -> dict[str, str | None]:
    # Without the name, unless it is somebody's: people type their passwords there.
    return {"person": read_name(arrival.name) if is_known else None, "address": arrival.address}
