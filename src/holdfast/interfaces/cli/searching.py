"""The options that say which jobs are meant: a search, and options for its commonest terms."""

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any

import click

from holdfast.domain.errors import BadInput
from holdfast.domain.search import BadSearch, NameField, NameTerm, Search, StatusTerm, Term, TimeTerm, parse
from holdfast.domain.states import Status
from holdfast.interfaces.cli.moments import Moment
from holdfast.interfaces.cli.output import plain

_NAMES: tuple[NameField, ...] = ("task", "queue", "tenant", "subject", "tag")
_OPTIONS = (
    click.option(
        "-q", "--search", "text", default="", help='What fits: "status:failed task:charge* age:<1h".'
    ),
    click.option("--status", type=click.Choice([str(status) for status in Status], case_sensitive=False)),
    click.option("--task"),
    click.option("--queue"),
    click.option("--tenant"),
    click.option("--subject"),
    click.option("--tag"),
    click.option("--since", type=Moment(takes_ago=True), help="Created since: 2h, or 2030-01-31T10:00Z."),
    click.option("--until", type=Moment(takes_ago=True), help="Created before."),
)


def searching(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these options; it gets them as one `search`."""

    @wraps(command)
    def searching(**given: Any) -> Any:
        return command(search=read_search(**taken(given)), **given)

    return with_options(searching)


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def taken(given: dict[str, Any]) -> dict[str, Any]:
    """Take these options out of a command's."""
    return {name: given.pop(name) for name in ("text", "status", *_NAMES, "since", "until")}


def read_search(
    text: str, status: str | None, since: datetime | None, until: datetime | None, **names: str | None
) -> Search:
    """Understand what was asked for, wherever on the line it stood."""
    try:
        search = parse(text)
    except BadSearch as error:
        raise BadInput("\n".join(plain(line) for line in error.pointed.splitlines())) from None
    terms: list[Term] = [] if status is None else [StatusTerm((Status(status.upper()),))]
    terms += [NameTerm(name, value) for name in _NAMES if (value := names[name]) is not None]
    terms += [] if since is None else [TimeTerm("since", since)]
    terms += [] if until is None else [TimeTerm("until", until)]
    return search.also(*terms)
