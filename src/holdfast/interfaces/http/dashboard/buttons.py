"""What the forms of a server's own buttons do."""

from collections.abc import Sequence

from holdfast.interfaces.http.button import Button
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Action, Done, Form
from holdfast.interfaces.http.login import next_path
from holdfast.interfaces.http.problem import FORBIDDEN, Refusal


class PressForm(Form):
    """Where somebody was."""

    to: str = "/"


def actions_of(buttons: Sequence[Button]) -> list[Action]:
    """Make what the buttons' forms do."""
    return [_action(button) for button in buttons]


def _action(button: Button) -> Action:
    async def press(look: Look, form: PressForm) -> Done:
        if not look.may(button.scope):
            raise Refusal(FORBIDDEN, f"this needs the scope {button.scope}")
        done = await button.press()
        await look.call.record(f"button.{button.name}")
        return Done(done.says, done.to or next_path(form.to))

    return Action(button.path, press, PressForm)
