"""The deployment files as they are read by what runs them: command lines, variables, units, services."""

import configparser
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "holdfast"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
APP_FOLDER = DEPLOY / "compose" / "app"


class Line(NamedTuple):
    """A command line of ours, and the file it stands in."""

    file: str
    arguments: list[str]


def all_files() -> list[Path]:
    ignored = {"secrets", "__pycache__"}
    return sorted(path for path in DEPLOY.rglob("*") if path.is_file() and not ignored & set(path.parts))


def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text()))


def ours(services: dict[str, Any]) -> dict[str, Any]:
    """Give the services that run our image."""
    return {name: service for name, service in services.items() if service["image"] == "holdfast"}


def procfile() -> dict[str, list[str]]:
    lines = [line.partition(": ") for line in (DEPLOY / "Procfile").read_text().splitlines()]
    return {name: shlex.split(command) for name, _, command in lines}


class _Several(dict[str, Any]):
    """What configparser collects options in: an option that is given again adds to what it had."""

    def __setitem__(self, key: str, value: Any) -> None:
        if isinstance(value, list) and key in self:
            self[key].extend(value)
        else:
            super().__setitem__(key, value)


def unit(path: Path) -> dict[str, list[str]]:
    """Give what the section Service says, each option with all that is said of it."""
    parser = configparser.ConfigParser(
        strict=False, interpolation=None, delimiters=["="], dict_type=_Several, empty_lines_in_values=False
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # options have capitals
    parser.read(path)
    return {name: value.splitlines() for name, value in parser.items("Service")}


def variables_of(path: Path) -> dict[str, str]:
    """Give the variables that a unit sets."""
    return dict(each.split("=", 1) for each in unit(path)["Environment"])


def dockerfile() -> str:
    return (DEPLOY / "Dockerfile").read_text()


def command_lines() -> Iterator[Line]:
    """Give every command line of ours in the files."""
    for arguments in procfile().values():
        assert arguments[0] == "holdfast"
        yield Line("Procfile", arguments[1:])
    for path in UNITS:
        for command in unit(path)["ExecStart"]:
            program, *arguments = shlex.split(command)
            assert program.endswith("/holdfast")
            yield Line(path.name, arguments)
    for service in ours(compose()["services"]).values():
        yield Line("compose.yaml", service["command"])
    for exec_form in re.findall(r"^\s*CMD (\[.*\])$", dockerfile(), re.MULTILINE):
        words = json.loads(exec_form)
        yield Line("Dockerfile", words[1:] if words[0] == "holdfast" else words)
    for path in sorted((CHART / "templates").glob("*.yaml")):
        for words in re.findall(r"^\s*args: (\[.*\])$", path.read_text(), re.MULTILINE):
            yield Line(path.name, yaml.safe_load(words))
    yield from _told()


def _told() -> Iterator[Line]:
    """Give the command lines that comments and notes tell people to type."""
    for path in all_files():
        for said in re.findall(r"(?:HOLDFAST_\w+=\S+ holdfast|run --rm server) (.+)", path.read_text()):
            yield Line(path.name, shlex.split(said.partition("  #")[0]))
