"""The setting HOLDFAST, read and checked."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from holdfast.store.connection import Database, database_of

_KINDS: dict[str, type] = {"APP": str, "DATABASE": str, "MIGRATE": bool}
_MEANT = "HOLDFAST_DJANGO_DATABASES"
_PARTS = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}


@dataclass(frozen=True, slots=True)
class Options:
    """What a project says about its jobs."""

    app: str | None = None  # module:attribute; a project that has only Django's tasks needs no app of its own
    database: str = "default"  # the alias in DATABASES
    migrate: bool = True  # whether `manage.py migrate` brings our schema up to date too


def read_options() -> Options:
    """Read the setting, or say what is wrong with it."""
    given: Any = getattr(settings, "HOLDFAST", {})
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured(
            f'HOLDFAST is a {type(given).__name__}: write a dictionary, e.g. HOLDFAST = {{"APP": "shop.jobs:app"}}'
        )
    for name, value in given.items():
        if name not in _KINDS:
            raise ImproperlyConfigured(
                f"HOLDFAST has {name!r}, which is no setting; known are {', '.join(_KINDS)}"
            )
        if not isinstance(value, _KINDS[name]):
            raise ImproperlyConfigured(f"HOLDFAST[{name!r}] is {value!r}: it takes a {_KINDS[name].__name__}")
    return Options(**{name.lower(): value for name, value in given.items()})


def _tell_children() -> None:
    """Leave word which databases are meant: a child process reads the settings anew, and a test's tasks must not write elsewhere."""
    os.environ[_MEANT] = json.dumps(
        {alias: str(connections[alias].settings_dict["NAME"]) for alias in connections}
    )


def use_what_the_worker_uses() -> None:
    """Point Django's connections at the databases that the worker of this child process has."""
    for alias, name in json.loads(os.environ.get(_MEANT, "{}")).items():
        if alias in connections:
            connections[alias].settings_dict["NAME"] = name


def find_database() -> Database:
    """Give the address that Django's own connection has: the test runner changes it when it has made a test database."""
    _tell_children()
    alias = read_options().database
    told = connections[alias].settings_dict
    parts = {**told["OPTIONS"], **{part: told[name] for part, name in _PARTS.items()}}
    if role := parts.get("assume_role"):
        parts["options"] = f"{parts.get('options', '')} -c role={role}".strip()
    return database_of(parts, f"DATABASES[{alias!r}]")
