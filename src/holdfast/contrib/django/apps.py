"""The Django app: finds the project's Holdfast app when Django is ready, and keeps the schema with Django's own."""

from django.apps import AppConfig
from django.core import checks
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate

from holdfast.contrib.django.checking import TAG, check_settings
from holdfast.contrib.django.project import let_go_of_database, migrate_too, prepare


class HoldfastConfig(AppConfig):  # type: ignore[misc] # Django says nothing about its types
    """What Django calls when it starts."""

    name = "holdfast.contrib.django"
    label = "holdfast"
    verbose_name = "Holdfast"

    def ready(self) -> None:
        """Point the project's app at Django's database; settings that cannot be used are the system checks' to tell."""
        checks.register(check_settings, TAG)
        post_migrate.connect(migrate_too, sender=self, dispatch_uid="holdfast")
        connection_created.connect(let_go_of_database, dispatch_uid="holdfast")
        prepare()
