"""One invocation of the command line: what was asked for on the way, and the doors it opens to app and database."""

import getpass
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.domain.errors import Configuration
from holdfast.interfaces.settings import Settings

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast
    from holdfast.runtime.link import Link
    from holdfast.store.connection import Database


@dataclass
class Invocation:
    """The global options, wherever on the line they stood."""

    flags: dict[str, str] = field(default_factory=dict)
    output: str = "table"
    quiet: bool = False
    verbose: bool = False
    yes: bool = False

    @cached_property
    def settings(self) -> Settings:
        """Everything that can be configured."""
        return Settings(self.flags, os.environ, Path.cwd())

    @cached_property
    def app(self) -> "Holdfast | None":
        """The app that was named, on the database that was named."""
        from holdfast.interfaces.cli.locate import find_app

        spec = self.settings.text("app")
        if spec is None:
            return None
        app = find_app(spec)
        database = self._overriding()
        if database is not None:
            app.connect_to(database)
        return app

    def require_app(self) -> "Holdfast":
        """Give the app, or say how to name it."""
        if self.app is None:
            raise Configuration(
                "this needs your app: pass -a module:attribute, e.g. holdfast -a shop.jobs:app worker, or set HOLDFAST_APP"
            )
        return self.app

    @cached_property
    def link(self) -> "Link":
        """The way to the database."""
        from holdfast.runtime.link import Link

        return self.app.link if self.app is not None else Link(self.find_database)

    @property
    def database(self) -> "Database":
        """Where the database is."""
        return self.link.database

    def find_database(self) -> "Database | None":
        """Look where the database is: flag, environment, file."""
        from holdfast.store.connection import find_database

        found = find_database(self.settings.flag("database_url"), source="--database-url")
        if found is not None:
            return found
        written = self.settings.from_file("database_url")
        if written is None:
            return None
        return find_database(written.value, source=written.source)

    def close(self) -> None:
        """Hang up, if anybody was called."""
        if "app" in self.__dict__ and self.app is not None:  # whoever enqueues through it asks for no link
            self.app.link.close()
        elif "link" in self.__dict__:
            self.link.close()

    def _overriding(self) -> "Database | None":
        # What the app says about itself in code wins over the environment, but not over a flag.
        from holdfast.store.connection import find_database

        if self.settings.flag("database_url") or find_database() is None:
            return self.find_database()
        return None


def current() -> Invocation:
    """Give the running command's invocation."""
    return click.get_current_context().ensure_object(Invocation)


def remembered(command: Any, names: set[str]) -> Any:
    """Let options of a command be settings: a flag is remembered as one, and the command gets no argument."""
    for parameter in command.__click_params__:
        if parameter.name in names:
            parameter.expose_value = False
            parameter.callback = _remember_flag
    return command


def _remember_flag(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None and option.name is not None:
        context.ensure_object(Invocation).flags[option.name] = value


def say(text: str = "") -> None:
    """Talk to a person: on stderr, and not when asked to be quiet."""
    if not current().quiet:
        click.echo(text, err=True)


def actor(given: str | None) -> str:
    """Tell who acts, for the history."""
    if given:
        return given
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user without a name
        return f"uid {os.getuid()}"


def is_watched() -> bool:
    """Whether a person sees stderr as it is written."""
    return sys.stderr.isatty() and not current().quiet


def confirm(question: str) -> None:
    """Ask before something hard to undo, where somebody can answer."""
    if current().yes or not sys.stdin.isatty():
        return
    click.confirm(question, abort=True, err=True)


def confirm_by_typing(question: str, word: str) -> None:
    """Ask before something that cannot be undone; where nobody can answer, --yes has to say it."""
    if current().yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} Nobody can answer here: say --yes")
    if click.prompt(f"{question} Type {word} to confirm", err=True) != word:
        raise click.Abort


@contextmanager
def progress(what: str, steps: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar on stderr while somebody watches; give the function that advances it."""
    if not is_watched() or steps == 0:
        yield lambda: None
        return
    with click.progressbar(length=steps, label=what, file=sys.stderr) as bar:
        yield lambda: bar.update(1)
