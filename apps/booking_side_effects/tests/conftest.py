"""The product on a database of the test's own."""

import importlib
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from apps._world.invoicing import Invoicing
from apps._world.mail import Mailbox
from apps._world.serving import served
from apps._world.stripe import Stripe
from apps.booking_side_effects import story, tasks
from apps.booking_side_effects.app import app, prepare
from apps.booking_side_effects.tests.house import House
from holdfast import Holdfast
from holdfast.testing import ScratchDatabase


@pytest.fixture
async def house(
    holdfast_db: ScratchDatabase,
    monkeypatch: pytest.MonkeyPatch,
    invoicing: Invoicing,
    mailbox: Mailbox,
) -> AsyncIterator[House]:
    """Give the product without its web and without a worker."""
    for name, value in story.environment(invoicing, mailbox).items():
        monkeypatch.setenv(name, value)
    holdfast_db.create_schema("booking_side_effects")
    holdfast_db.use(app)
    prepare()
    yield House(holdfast_db, Stripe(), invoicing, mailbox)
    await app.aclose()


@pytest.fixture
async def client(house: House, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    """Give a client of the product's web; Stripe sends its events there, and links lead there."""
    web = importlib.import_module("apps.booking_side_effects.web")  # which needs the webhook's secret
    with served(web.web) as url:
        monkeypatch.setenv("PUBLIC_URL", url)
        house.stripe.endpoint = f"{url}/webhooks/v1/stripe"
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            yield client


@pytest.fixture
def forgotten(house: House) -> Iterator[str]:
    """Leave a job whose type has left the code since."""
    older = Holdfast()
    house.database.use(older)

    @older.task(name="send_fax", queue=tasks.QUEUE)
    async def send_fax(number: str) -> None: ...

    send_fax.enqueue("555")
    yield "send_fax"
    app.tasks.pop("send_fax", None)
