"""The public doors: sorted, documented, and nothing else."""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import holdfast
import holdfast.client
import holdfast.contrib.django
import holdfast.contrib.sentry
import holdfast.contrib.structlog
import holdfast.server
import holdfast.testing

CONTRIB = [holdfast.contrib.django, holdfast.contrib.sentry, holdfast.contrib.structlog]
DOORS = [holdfast, holdfast.client, *CONTRIB, holdfast.server, holdfast.testing]
each_door = pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)


def is_describable(value: Any) -> bool:
    return inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, property)


def parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Give a public name, and the public names a class defines itself or inherits from us."""
    yield name, value
    if inspect.isclass(value):
        for owner in value.__mro__:
            if owner.__module__.startswith("holdfast"):
                yield from (
                    (f"{name}.{part}", inner)
                    for part, inner in vars(owner).items()
                    if not part.startswith("_")
                )


@each_door
def test_what_is_exported_is_sorted(door: ModuleType) -> None:
    assert sorted(door.__all__) == door.__all__


@each_door
def test_what_is_exported_exists_and_is_documented(door: ModuleType) -> None:
    named = [part for name in door.__all__ for part in parts(name, getattr(door, name))]

    undocumented = [name for name, value in named if is_describable(value) and not inspect.getdoc(value)]

    assert undocumented == []


@each_door
def test_a_door_leads_nowhere_but_to_what_it_exports(door: ModuleType) -> None:
    here = {name for name in dir(door) if not name.startswith("_")}

    ours = {name for name in here if getattr(getattr(door, name), "__module__", "").startswith("holdfast")}

    assert ours - set(door.__all__) == set()


def test_errors_a_caller_can_act_on_are_exported() -> None:
    from holdfast.domain import errors

    defined = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception)
    }

    assert defined - set(holdfast.__all__) == set()


def test_importing_holdfast_needs_no_library_it_only_recognises() -> None:
    recognised = (
        "sqlalchemy",
        "asyncpg",
        "django",
        "httpx",
        "requests",
        "aiohttp",
        "uvloop",
        "click",
        "sentry_sdk",
        "structlog",
    )
    code = (
        f"import sys; from holdfast import *; print([name for name in {recognised} if name in sys.modules])"
    )

    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert said.stdout.strip() == "[]"
