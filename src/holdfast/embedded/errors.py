"""What goes wrong with an embedded PostgreSQL, said so that the reader can act on it."""

from holdfast.domain.errors import HoldfastError


class EmbeddedError(HoldfastError):
    """The embedded PostgreSQL cannot be found, started or stopped; the message names the fixes."""
