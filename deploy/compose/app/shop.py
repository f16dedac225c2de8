"""The app that the compose file runs; mount yours in its place."""

from holdfast import Holdfast

app = Holdfast()


@app.task(queue="mail", retries=5)
async def welcome(name: str) -> str:
    """Greet somebody."""
    return f"Welcome, {name}"
