"""The composition: the app, its tables, and its words in the log."""

import logging
from pathlib import Path

from apps.booking_side_effects.logs import in_our_words
from holdfast import Holdfast

app = Holdfast()

logging.getLogger("holdfast").addFilter(in_our_words)


def prepare() -> None:
    """Make the product's tables, unless they are there."""
    schema = Path(__file__).with_name("schema.sql").read_text("utf-8")
    with app.transaction() as connection:
        connection.execute(schema)
