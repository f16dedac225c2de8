"""The Holdfast app of a Django project: found by the settings, on Django's database, with Django's connections looked after."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from asgiref.sync import sync_to_async
from django.core.exceptions import ImproperlyConfigured
from django.db import close_old_connections, connections
from django.db.backends.base.base import NO_DB_ALIAS
from django.utils.module_loading import autodiscover_modules

from holdfast.contrib.django.options import find_database, read_options
from holdfast.domain.errors import Configuration
from holdfast.interfaces.cli.locate import find_app
from holdfast.runtime.app import Holdfast
from holdfast.runtime.registry import is_async
from holdfast.store.migrate import migrate

LOCATED = "holdfast.contrib.django.located"

_found: list[Holdfast] = []
_when_found: list[Callable[[Holdfast], None]] = []


def project_app() -> Holdfast:
    """Give the app that HOLDFAST names, or one of our own where it names none."""
    if not _found:
        spec = read_options().app
        try:
            app = Holdfast() if spec is None else find_app(spec)
        except Configuration as error:
            raise ImproperlyConfigured(f"HOLDFAST['APP']: {error}") from error
        app.link.find_with(find_database)
        app.wrap(with_fresh_connections)
        app.made_in = LOCATED  # a child process must set Django up before it imports the project's modules
        _found.append(app)
        for tell in _when_found:
            tell(app)
    return _found[0]


def when_found(tell: Callable[[Holdfast], None]) -> None:
    """Call this with the app: now, or as soon as there is one. The modules with its tasks may be imported before it."""
    if _found:
        tell(_found[0])
    else:
        _when_found.append(tell)


def prepare() -> None:
    """Find the app when Django starts; what stands in the way is told by the checks, and by whoever needs the app."""
    try:
        project_app()
    except ImproperlyConfigured:
        return
    __import__(LOCATED)  # there the worker finds what its children will find


def let_go_of_database(sender: Any, connection: Any, **_more: Any) -> None:  # noqa: ARG001 - Django's signal gives it
    """Close our own connections when Django connects to no database in particular: it makes or drops a test database then."""
    if _found and connection.alias == NO_DB_ALIAS:
        _found[0].link.find_with(find_database)


def discover_tasks() -> None:
    """Import the modules called `tasks` of all installed apps, where Django's tasks are."""
    autodiscover_modules("tasks")


def migrate_too(sender: Any, using: str, **more: Any) -> None:  # noqa: ARG001 - Django's signal gives it
    """Bring Holdfast's schema up to date when `manage.py migrate` has done the same for Django's, test databases included."""
    options = read_options()
    if not options.migrate or using != options.database or connections[using].vendor != "postgresql":
        return
    applied = migrate(find_database())
    if applied and more.get("verbosity", 1) > 0:
        out = more.get("stdout") or sys.stdout
        out.write(f"  Applied to the schema holdfast: {', '.join(applied)}\n")


def with_fresh_connections(function: Callable[..., Any]) -> Callable[..., Any]:
    """Do for a task what Django does for a request: connections that broke or are too old are not used again."""
    if is_async(function):
        close = sync_to_async(
            close_old_connections
        )  # in the thread where Django's asynchronous methods connect

        @wraps(function)
        async def afresh(*args: Any, **kwargs: Any) -> Any:
            await close()
            try:
                return await function(*args, **kwargs)
            finally:
                await close()

        return afresh

    @wraps(function)
    def fresh(*args: Any, **kwargs: Any) -> Any:
        close_old_connections()
        try:
            return function(*args, **kwargs)
        finally:
            close_old_connections()

    return fresh
