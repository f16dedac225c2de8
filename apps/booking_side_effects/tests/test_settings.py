"""Settings that are missing or make no sense are named."""

import pytest

from apps.booking_side_effects.settings import Settings
from holdfast import Configuration

FEWEST = {"PUBLIC_URL": "https://rent.example/", "PDF_LINK_SECRET": "a secret of enough length"}


def test_what_is_not_set_is_off() -> None:
    settings = Settings.read(FEWEST)

    assert (settings.invoicing_enabled, settings.send_emails, settings.cron_secret) == (False, False, None)
    assert settings.public_url == "https://rent.example"


def test_operations_addresses_stand_apart_by_commas() -> None:
    settings = Settings.read({**FEWEST, "EMAIL_ADMIN_TO": "a@example.com, b@example.com,"})

    assert settings.email_admin_to == ("a@example.com", "b@example.com")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"PUBLIC_URL": ""}, "PUBLIC_URL is not set"),
        ({"PDF_LINK_SECRET": "short"}, "PDF_LINK_SECRET is too short"),
        ({"CRON_SECRET": "short"}, "CRON_SECRET is too short"),
        ({"INVOICING_DOCUMENT_TYPE": "FS"}, "must be FR or FT"),
    ],
)
def test_what_makes_no_sense_is_named(change: dict[str, str], complaint: str) -> None:
    with pytest.raises(Configuration, match=complaint):
        Settings.read({**FEWEST, **change})
