"""The world as fixtures, and the tables of the READMEs; the databases come from Holdfast's own pytest plugin."""

from collections.abc import Iterator

import pytest

from apps._tables import Tables
from apps._world import invoicing as _invoicing
from apps._world import mail as _mail
from apps._world import stripe as _stripe
from apps._world.invoicing import Invoicing
from apps._world.mail import Mailbox
from apps._world.stripe import Stripe


def pytest_configure(config: pytest.Config) -> None:
    """Have a whole run show every rule of the READMEs."""
    config.pluginmanager.register(Tables(), "tables")


@pytest.fixture
def stripe() -> Iterator[Stripe]:
    """Give a Stripe of the test's own."""
    with _stripe.simulated() as stripe:
        yield stripe


@pytest.fixture
def invoicing() -> Iterator[Invoicing]:
    """Give an invoicing service."""
    with _invoicing.simulated() as invoicing:
        yield invoicing


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    """Give an SMTP server with a mailbox."""
    with _mail.simulated() as mailbox:
        yield mailbox
