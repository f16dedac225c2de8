"""What a task function can be called with, read from its signature once."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_origin

from typing_extensions import Unpack, get_type_hints

from holdfast.domain.errors import BadInput

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters that are part of a payload, with their types resolved."""

    task: str
    ordered: tuple[inspect.Parameter, ...]
    types: Mapping[str, Any]
    takes_extra: bool
    extra_type: Any
    returns: Any

    @property
    def positional(self) -> tuple[str, ...]:
        """The names that can be given by position, in order."""
        return tuple(one.name for one in self.ordered if one.kind in _POSITIONAL)

    @property
    def positional_only(self) -> tuple[inspect.Parameter, ...]:
        """The parameters that cannot be given by name."""
        return tuple(one for one in self.ordered if one.kind is one.POSITIONAL_ONLY)


def read_parameters(
    function: Callable[..., Any], context_type: type | None, localns: Mapping[str, Any]
) -> Parameters:
    """Read a task's signature; a first parameter annotated `context_type` is left out."""
    task = getattr(function, "__qualname__", type(function).__qualname__).replace("<locals>.", "")
    hints = _hints(function, task, context_type, localns)
    found = list(inspect.signature(function).parameters.values())
    if found and _is_context(hints.get(found[0].name), context_type):
        found = found[1:]
    extra = next((one for one in found if one.kind is one.VAR_KEYWORD), None)
    ordered = tuple(one for one in found if one is not extra)
    _refuse_star_args(task, ordered)
    return Parameters(
        task=task,
        ordered=ordered,
        types={one.name: hints.get(one.name, Any) for one in ordered},
        takes_extra=extra is not None,
        extra_type=_extra_type(task, hints.get(extra.name, Any)) if extra else Any,
        returns=hints.get("return", Any),
    )


def _hints(
    function: Callable[..., Any], task: str, context_type: type | None, localns: Mapping[str, Any]
) -> dict[str, Any]:
    target = _annotated(function)
    names = dict(localns)
    for kind in (context_type, *context_type.__subclasses__()) if context_type is not None else ():
        if kind.__name__ not in getattr(target, "__globals__", {}):
            # Many import the context for the type checker only.
            names.setdefault(kind.__name__, kind)
    try:
        return get_type_hints(target, localns=names, include_extras=True)
    except NameError as error:
        raise BadInput(
            f"task {task}: the annotation names {error.name!r}, which its module does not define when it runs; "
            "import it outside `if TYPE_CHECKING`"
        ) from None


def _annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    function = inspect.unwrap(function)
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def _is_context(hint: Any, context_type: type | None) -> bool:
    kind = get_origin(hint) or hint
    return context_type is not None and isinstance(kind, type) and issubclass(kind, context_type)


def _refuse_star_args(task: str, ordered: tuple[inspect.Parameter, ...]) -> None:
    for one in ordered:
        if one.kind is one.VAR_POSITIONAL:
            raise BadInput(
                f"task {task}: *{one.name} has no names to store its values under; take a list instead: "
                f"{one.name}: list[…]"
            )


def _extra_type(task: str, hint: Any) -> Any:
    if get_origin(hint) is Unpack:
        raise BadInput(f"task {task}: Unpack[…] is not supported for a task; write its keys as parameters")
    return hint
