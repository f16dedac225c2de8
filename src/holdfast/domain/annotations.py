"""Reading annotations: what is said about a type and is none, the fields that a class stores, and which types keep secrets."""

import dataclasses
import types
from typing import Annotated, Any, NewType, NotRequired, Required, Union, get_args, get_origin

from pydantic import BaseModel, Secret, SecretBytes, SecretStr
from typing_extensions import ReadOnly, get_type_hints, is_typeddict

from holdfast.domain.json_rules import Fault

SECRETS = (SecretStr, SecretBytes, Secret)
BYTES = (bytes, bytearray, memoryview)
UNIONS = (Union, types.UnionType)
_WRAPPERS = (Required, NotRequired, ReadOnly)


def bare_type(annotation: Any) -> Any:
    """Strip what says something about a type but is none."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated or origin in _WRAPPERS:
            annotation = get_args(annotation)[0]
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        else:
            return annotation


def is_secret(bare: Any) -> bool:
    """Whether values of this type hide what they hold."""
    origin = get_origin(bare) or bare
    return isinstance(origin, type) and issubclass(origin, SECRETS)


def has_fields(origin: type) -> bool:
    """Whether values of this class have named fields that are stored."""
    return (
        issubclass(origin, BaseModel)
        or dataclasses.is_dataclass(origin)
        or is_typeddict(origin)
        or (issubclass(origin, tuple) and hasattr(origin, "_fields"))
    )


def field_types(origin: type) -> dict[str, Any]:
    """Return the annotations of a class's stored fields."""
    if issubclass(origin, BaseModel):
        return _types_of_model(origin)
    try:
        hints = get_type_hints(origin, include_extras=True)
    except NameError as error:
        raise Fault(
            f"is a {origin.__name__}, whose annotations name {error.name!r}, which its module does not define"
        ) from None
    if not dataclasses.is_dataclass(origin):
        return hints
    return {field.name: hints[field.name] for field in dataclasses.fields(origin)}


def _types_of_model(model: type[BaseModel]) -> dict[str, Any]:
    hints = {}
    for name, field in model.model_fields.items():
        if field.exclude or (bare_type(field.annotation) in BYTES and _writes_bytes_as_text(model)):
            continue
        hints[name] = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    return hints


def _writes_bytes_as_text(model: type[BaseModel]) -> bool:
    written = model.model_config.get("ser_json_bytes", "utf8")
    return written != "utf8" and written == model.model_config.get("val_json_bytes", "utf8")
