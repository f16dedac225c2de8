"""What users need to test their jobs: a database per test, a clock that moves, drain, assertions, crashes at a point."""

from holdfast.runtime.failpoints import Point
from holdfast.testing.scratch import Clock, ScratchDatabase, adrain, crash_at, drain
from holdfast.testing.servers import TestServer, test_server

__all__ = ["Clock", "Point", "ScratchDatabase", "TestServer", "adrain", "crash_at", "drain", "test_server"]
