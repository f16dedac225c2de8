"""A Django project on a test's own database."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from api.doors import pointed
from holdfast import Holdfast
from holdfast.testing import ScratchDatabase
from world.hosts import set_up_django


@pytest.fixture
def shop(holdfast_db: ScratchDatabase) -> Iterator[Any]:
    """Give the shop's jobs with Django's default connection on the test's database, where its table is."""
    with shop_on(holdfast_db) as jobs:
        yield jobs


@contextmanager
def shop_on(database: ScratchDatabase) -> Iterator[Any]:
    """Point Django and the shop's app at a database, and make the shop's table there."""
    set_up_django()
    from django.db import connection

    from holdfast.contrib.django.options import find_database
    from world.shop import jobs
    from world.shop.models import Order

    with ExitStack() as open_things:
        open_things.enter_context(pointed("default", database.owner_url))
        with connection.schema_editor() as editor:
            editor.create_model(Order)
        jobs.app.link.find_with(find_database)
        open_things.callback(jobs.app.close)
        yield jobs


@pytest.fixture
def shop_app(shop: Any) -> Holdfast:
    """Give the shop's app."""
    app: Holdfast = shop.app
    return app
