"""Finds the app that `-a module:attribute` names, with an error that says what is there instead."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from holdfast.domain.errors import Configuration
from holdfast.runtime.garbage import seldom

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast


def find_app(spec: str) -> "Holdfast":
    """Import the module, from the current folder too, and take the app out of it."""
    module_name, _, attribute = spec.partition(":")
    if not module_name:
        raise Configuration(f"--app {spec!r} names no module: write module:attribute, e.g. shop.jobs:app")
    module = _import(module_name)
    return _named(module, attribute) if attribute else _only(module)


def _import(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with seldom():
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise Configuration(
                f"there is no module {error.name!r} in {here} or among the installed packages (--app {name})"
            ) from None
        raise Configuration(f"importing {name} failed: {error} (an import inside it)") from error
    except Exception as error:
        raise Configuration(f"importing {name} failed: {type(error).__name__}: {error}") from error


def _named(module: ModuleType, attribute: str) -> "Holdfast":
    from holdfast.runtime.app import Holdfast

    found = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise Configuration(
                f"module {module.__name__} has no attribute {attribute!r}; {_apps_in(module)}"
            )
        found = getattr(found, part)
    if not isinstance(found, Holdfast):
        raise Configuration(
            f"{module.__name__}:{attribute} is a {type(found).__name__}, not a Holdfast app; {_apps_in(module)}"
        )
    return found


def _only(module: ModuleType) -> "Holdfast":
    apps = _apps(module)
    if len(apps) == 1:
        return next(iter(apps.values()))
    raise Configuration(f"--app {module.__name__} names no attribute; {_apps_in(module)}")


def _apps(module: ModuleType) -> "dict[str, Holdfast]":
    from holdfast.runtime.app import Holdfast

    return {name: value for name, value in vars(module).items() if isinstance(value, Holdfast)}


def _apps_in(module: ModuleType) -> str:
    apps = [f"{module.__name__}:{name}" for name in _apps(module)]
    return f"its apps are: {', '.join(apps)}" if apps else "it holds no Holdfast app"
