"""System checks: what is wrong with the settings, before anything is run with them."""

from typing import Any

from django.core.checks import Error
from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from holdfast.contrib.django.options import read_options
from holdfast.contrib.django.project import project_app

TAG = "holdfast"


def check_settings(app_configs: Any = None, **more: Any) -> list[Error]:  # noqa: ARG001 - Django gives them
    """Check HOLDFAST and what it names."""
    try:
        options = read_options()
    except ImproperlyConfigured as error:
        return [Error(str(error), id="holdfast.E001")]
    found = [_check_database(options.database), _check_app()]
    return [error for error in found if error is not None]


def _check_database(alias: str) -> Error | None:
    if alias not in connections:
        return Error(
            f"HOLDFAST['DATABASE'] names {alias!r}, which DATABASES does not have.",
            hint=f"It has {', '.join(sorted(connections))}.",
            id="holdfast.E002",
        )
    vendor = connections[alias].vendor
    if vendor == "postgresql":
        return None
    return Error(
        f"DATABASES[{alias!r}] is {vendor}; jobs live in PostgreSQL, in one transaction with your rows.",
        hint="Use django.db.backends.postgresql, or name another alias in HOLDFAST['DATABASE'].",
        id="holdfast.E003",
    )


def _check_app() -> Error | None:
    try:
        project_app()
    except ImproperlyConfigured as error:
        hint = 'Name your app as module:attribute, e.g. HOLDFAST = {"APP": "shop.jobs:app"}.'
        return Error(str(error), hint=hint, id="holdfast.E004")
    return None
