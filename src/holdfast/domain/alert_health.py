"""Does anybody hear of what goes wrong: what doctor says about rules and the outbox."""

from collections.abc import Iterator

from holdfast.domain.alert import Outbox
from holdfast.domain.health import Check, Verdict
from holdfast.domain.sentence import ago

NAMED = 5


def judge_outbox(outbox: Outbox) -> Iterator[Check]:
    """Say which messages did not go out, and which rules nobody would hear of."""
    yield _undelivered(outbox)
    if outbox.mute_rules:
        named = ", ".join(outbox.mute_rules[:NAMED])
        advice = "declare a channel with app.alerts.to(…), and start a worker of that app"
        yield Check("alert rules", Verdict.WARN, f"these rules have no channel: {named}", advice)


def _undelivered(outbox: Outbox) -> Check:
    if not outbox.failed and not outbox.late:
        return Check("notifications", Verdict.OK, "none is overdue")
    oldest = f", the oldest from {ago(outbox.oldest, outbox.now)}" if outbox.oldest else ""
    told = f"{outbox.failed} could not be delivered, {outbox.late} wait for longer than 10 minutes{oldest}"
    advice = (
        "holdfast job list --queue holdfast shows why; a worker of the app that has the channel must serve queue holdfast; "
        "then: holdfast job retry ID"
    )
    return Check("notifications", Verdict.WARN, told, advice)
