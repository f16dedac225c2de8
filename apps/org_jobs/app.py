"""The app, and the product's own tables."""

from pathlib import Path

from holdfast import Holdfast

app = Holdfast()


def prepare() -> None:
    """Make the product's tables; may be repeated."""
    with app.transaction() as connection:
        connection.execute(Path(__file__).with_name("schema.sql").read_text("utf-8"))
