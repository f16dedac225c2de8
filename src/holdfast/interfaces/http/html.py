"""Our own pages: templates in pages/, and headers that keep browsers strict about them."""

from jinja2 import Environment, PackageLoader, select_autoescape

pages = Environment(
    loader=PackageLoader("holdfast.interfaces.http", "pages"),
    autoescape=select_autoescape(),
    trim_blocks=True,
    lstrip_blocks=True,
)


def headers(policy: str) -> dict[str, str]:
    """Give the headers of a page that may do what the policy names, and nothing else."""
    return {
        "Content-Security-Policy": f"default-src 'none'; {policy}; base-uri 'none'; frame-ancestors 'none'",
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
