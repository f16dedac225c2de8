"""The composition: the app, its tables, and its words in the log."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apps.booking_side_effects.logs import in_our_words
from holdfast import Holdfast

app = Holdfast()

logging.getLogger("holdfast").addFilter(in_our_words)


def prepare() -> None:
    """Make the product's tables, unless they are there."""
    schema = Path(__file__).with_name("schema.sql").read_text("utf-8")
    with app.transaction() as connection:
        connection.execute(schema)


async def ask_about_jobs(query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Read Holdfast's own tables, in a transaction that sees the rows of all."""
    async with app.atransaction() as conn:
        await conn.execute("select holdfast.enter('*')")
        return list(await (await conn.execute(query, values)).fetchall())
