"""`manage.py holdfast …`: the command line of Holdfast with the project's own app."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from asgiref.sync import SyncToAsync
from django.core.management.base import BaseCommand, CommandError, handle_default_options

from holdfast.contrib.django.checking import TAG
from holdfast.contrib.django.project import LOCATED, discover_tasks
from holdfast.interfaces.cli import main
from holdfast.interfaces.cli.invocation import Invocation
from holdfast.interfaces.ending import leave, staying


class Command(BaseCommand):  # type: ignore[misc] # Django says nothing about its types
    """Passes on what stands behind it; `manage.py holdfast --help` lists what there is."""

    help = "Runs workers, the HTTP service and everything else of Holdfast's command line with this project's app."

    def run_from_argv(self, argv: list[str]) -> None:
        """Leave the arguments to our own command line, except those that manage.py has dealt with."""
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        parser.add_argument("--settings")
        parser.add_argument("--pythonpath")
        options, passed_on = parser.parse_known_args(argv[2:])
        handle_default_options(options)
        try:
            code = self._call(passed_on)
        except CommandError as error:
            self.stderr.write(str(error), lambda text: text)
            code = error.returncode
        # Idle, it would pass for a task's thread that is stuck.
        SyncToAsync.single_thread_executor.shutdown(wait=False)
        leave(code)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Take everything, for call_command("holdfast", "worker", "--until-idle")."""
        parser.add_argument("arguments", nargs=argparse.REMAINDER)

    def handle(self, *args: str, **options: Any) -> None:
        """Run for call_command; an exit code other than 0 is a CommandError."""
        code = self._call([*args, *options.get("arguments", ())])
        if code:
            raise CommandError(f"holdfast ended with exit code {code}", returncode=code)

    def _call(self, arguments: Sequence[str]) -> int:
        if "dev" in arguments[:1]:
            raise CommandError(
                "dev brings a database of its own, which the ORM would not use: run manage.py holdfast up"
            )
        self.check(tags=[TAG])
        discover_tasks()
        invocation = Invocation(flags={"app": f"{LOCATED}:app"})
        run: Callable[..., None] = main.main  # to click it never returns
        try:
            with staying():
                run(list(arguments), prog_name="manage.py holdfast", obj=invocation)
        except SystemExit as end:
            return int(end.code or 0)
        return 0
