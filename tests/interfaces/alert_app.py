"""An app that tells a webhook on this machine what goes wrong; where to comes from the environment."""

import os

from holdfast import AnyFailure, Failures, Holdfast, SignedWebhook

app = Holdfast()
app.alerts.to(
    SignedWebhook(
        os.environ.get("ALERT_TEST_URL", "https://hooks.example.com/x"),
        "0123456789abcdef0123456789abcdef",
        allow=["127.0.0.1"],
    ),
    name="ops",
)
app.alerts.rule("broken", AnyFailure(), severity="critical")
app.alerts.rule("many", Failures(more_than=100))


@app.task(retries=0)
def breaks() -> None:
    """Fail, always."""
    raise ValueError("no")
