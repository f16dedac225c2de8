"""A page and its parts: panels that are read side by side and fail alone, and forms that do something and lead back."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeVar, get_type_hints
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, model_validator

from holdfast.interfaces.http.dashboard.look import Look

Values = Mapping[str, Any]
Reads = Callable[..., Awaitable[Values]]
Acts = Callable[..., Awaitable["Done | Shown"]]
Makes = Callable[..., Awaitable["File"]]
R = TypeVar("R", bound=Reads)
A = TypeVar("A", bound=Acts)
M = TypeVar("M", bound=Makes)


class Asked(BaseModel):
    """Base of what stands behind a page's question mark. What is unknown is ignored: people edit addresses."""

    model_config = ConfigDict(extra="ignore")


class Form(BaseModel):
    """Base of what a form brings."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    @model_validator(mode="before")
    @classmethod
    def _without_what_was_left_empty(cls, given: Any) -> Any:
        return (
            {name: value for name, value in given.items() if value != ""}
            if isinstance(given, dict)
            else given
        )

    @model_validator(mode="after")
    def _without_nul(self) -> Self:
        if any("\x00" in value for value in self.__dict__.values() if isinstance(value, str)):
            raise ValueError("the character NUL cannot be kept")
        return self


class Kept(NamedTuple):
    """What a browser is to send from now on; nothing, and it forgets what it sent."""

    name: str
    value: str | None


class Done(NamedTuple):
    """What a form has done, in a sentence, and where to go on."""

    says: str
    to: str
    keeps: Kept | None = None


class NothingDone(Exception):
    """A form was refused: its transaction is rolled back, and the person is told where they can go on."""

    def __init__(self, says: str, to: str) -> None:
        super().__init__(says)
        self.done = Done(f"Nothing was done: {says}", to)


class Shown(NamedTuple):
    """What a form has done and is shown in the answer itself, because it is kept nowhere: a secret that is told once."""

    page: "Page"
    values: Mapping[str, Any]


class File(NamedTuple):
    """What a browser keeps as a file."""

    name: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of a page: its name is its template's, and the place on the page where it stands."""

    name: str
    reads: Reads
    on: tuple[str, ...]  # names of live events after which it is read anew
    rest: int = 0  # seconds between two such readings, for panels that cost more
    kind: str = ""  # whose template it has, when not one of its own name

    @property
    def place(self) -> str:
        """The id of its element."""
        return self.name.replace("_", "-")

    @property
    def template(self) -> str:
        """Where its template is."""
        return f"panels/{self.kind or self.name}.html"

    @property
    def trigger(self) -> str:
        """What has the browser read it anew: the page's script says so, once for all names that come together."""
        return f"anew throttle:{self.rest}s" if self.rest else "anew"

    async def read(self, look: Look, asked: Asked, parts: Mapping[str, Any]) -> Values:
        """Read it, and give it what it names: the look, what was asked, parts of the path."""
        given = {"look": look, "asked": asked, **parts}
        named = inspect.signature(self.reads).parameters
        return await self.reads(**{name: given[name] for name in named if name in given})


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its template has its name."""

    path: str
    name: str
    title: str
    section: str
    panels: tuple[Panel, ...]
    asked: type[Asked]


@dataclass(frozen=True, slots=True)
class Action:
    """What a form does."""

    path: str
    acts: Acts
    form: type[Form]


@dataclass(frozen=True, slots=True)
class Download:
    """What makes a file."""

    path: str
    makes: Makes
    asked: type[Asked]


@dataclass(slots=True)
class Section:
    """The pages of one entry of the navigation, collected by decorators."""

    name: str
    pages: list[Page] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    downloads: list[Download] = field(default_factory=list)
    _panels: dict[Reads, Panel] = field(default_factory=dict)

    def panel(self, *on: str, rest: int = 0) -> Callable[[R], R]:
        """Declare a panel: a function of a look, what was asked, and parts of the path, of which it names what it needs.

        Who may see it is what the operations say that it asks.
        """

        def declare(reads: R) -> R:
            self._panels[reads] = Panel(reads.__name__, reads, on, rest)
            return reads

        return declare

    def page(
        self,
        path: str,
        title: str,
        *panels: Reads,
        name: str | None = None,
        asked: type[Asked] = Asked,
    ) -> Page:
        """Declare a page of panels."""
        made = Page(
            path,
            name or self.name,
            title,
            self.name,
            tuple(self._panels[each] for each in panels),
            asked,
        )
        self.pages.append(made)
        return made

    def action(self, path: str) -> Callable[[A], A]:
        """Declare what a form at this path does; the operations that it calls say who may."""

        def declare(acts: A) -> A:
            self.actions.append(Action(path, acts, get_type_hints(acts)["form"]))
            return acts

        return declare

    def download(self, path: str) -> Callable[[M], M]:
        """Declare a file to keep; the operations that it asks say who may have it."""

        def declare(makes: M) -> M:
            self.downloads.append(Download(path, makes, get_type_hints(makes)["asked"]))
            return makes

        return declare


async def read_panels(panels: tuple[Panel, ...], read: Callable[[Panel], Awaitable[str]]) -> dict[str, str]:
    """Read panels side by side."""
    texts = await asyncio.gather(*(read(panel) for panel in panels))
    return {panel.name: text for panel, text in zip(panels, texts, strict=True)}


def panel_address(path: str, query: Mapping[str, str], panel: Panel) -> str:
    """Write where one panel of a page is read alone."""
    return f"{path}?{urlencode({**query, 'panel': panel.name})}"
