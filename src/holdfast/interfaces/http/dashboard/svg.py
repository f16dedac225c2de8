"""Elements of SVG as text: every value is escaped, and what looks like something is said by classes, never by styles."""

from typing import Final

from markupsafe import Markup, escape

TIMES: Final = "\N{MULTIPLICATION SIGN}"


def element(name: str, *children: str, **attributes: object) -> Markup:
    """Write an element; attributes that are None are left out, `class_` is class, and _ stands for -."""
    told = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _written(value))
        for key, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(escape(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), told, inside)  # noqa: S704 - names are our own constants # nosec B704


def shortened(text: str, most: int) -> str:
    """Cut a text that is too long to be drawn; whoever draws it gives the whole one as its title."""
    return text if len(text) <= most else text[: most - 1] + "…"


def arrow(marker_id: str, class_: str) -> Markup:
    """Write the head of an arrow, for marker-end."""
    head = element("path", d="M0 0 8 4 0 8z", class_=class_)
    return element(
        "marker",
        head,
        id=marker_id, viewBox="0 0 8 8", refX=7, refY=4, markerWidth=8, markerHeight=8, orient="auto",
        markerUnits="userSpaceOnUse",
    )  # fmt: skip


def _written(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
