"""Django as a host of ours: its settings are one per process, so whoever comes first sets them for all tests."""

import django
from django.conf import settings


def set_up_django() -> None:
    """Configure Django with a database to point elsewhere and pages to mount beside."""
    if not settings.configured:
        settings.configure(
            DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "-"}},
            USE_TZ=True,
            ROOT_URLCONF="service.django_urls",
            ALLOWED_HOSTS=["*"],
            SECRET_KEY="only in tests",
            DEBUG=False,
        )
        django.setup()
