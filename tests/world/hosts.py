"""Django as a host of ours: its settings are one per process, so whoever comes first sets them for all tests."""

from typing import Any

import django
from django.conf import settings

POSTGRES: dict[str, Any] = {"ENGINE": "django.db.backends.postgresql", "NAME": "-"}


def set_up_django() -> None:
    """Configure Django with databases to point elsewhere, a shop with jobs, and pages to mount beside."""
    if not settings.configured:
        settings.configure(
            INSTALLED_APPS=["django_tasks", "holdfast.contrib.django", "world.shop"],
            DATABASES={
                "default": {**POSTGRES},
                "archive": {**POSTGRES},
                "file": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
            },
            HOLDFAST={"APP": "world.shop.jobs:app"},
            TASKS={
                "default": {
                    "BACKEND": "holdfast.contrib.django.HoldfastBackend",
                    "QUEUES": ["default", "slow", "night"],
                },
                "patient": {
                    "BACKEND": "holdfast.contrib.django.HoldfastBackend",
                    "OPTIONS": {"RETRIES": 1},
                },
            },
            USE_TZ=True,
            ROOT_URLCONF="service.django_urls",
            ALLOWED_HOSTS=["*"],
            SECRET_KEY="only in tests",
            DEBUG=False,
        )
        django.setup()
