"""Arrays of the hot path, in PostgreSQL's binary form: psycopg's own way costs a call an element, more than a job's other arguments do."""

import struct
from uuid import UUID

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

# One dimension, no nulls, the elements' type, how many, counted from one.
_HEADER = struct.Struct("!iiIii")
_UUID, _UUIDS = 2950, 2951
_INT, _INTS = 23, 1007
_SIXTEEN_BYTES = b"\0\0\0\x10"


class Uuids(list[UUID]):
    """A uuid[] without nulls."""


class Ints(list[int]):
    """An int[] without nulls."""


class _UuidsDumper(Dumper):
    format = Format.BINARY
    oid = _UUIDS

    def dump(self, obj: Uuids) -> bytes:
        elements = b"".join([_SIXTEEN_BYTES + one.bytes for one in obj])
        return _HEADER.pack(1, 0, _UUID, len(obj), 1) + elements


class _IntsDumper(Dumper):
    format = Format.BINARY
    oid = _INTS

    def dump(self, obj: Ints) -> bytes:
        elements = [4] * (2 * len(obj))
        elements[1::2] = obj
        return _HEADER.pack(1, 0, _INT, len(obj), 1) + struct.pack(f"!{len(elements)}i", *elements)


psycopg.adapters.register_dumper(Uuids, _UuidsDumper)
psycopg.adapters.register_dumper(Ints, _IntsDumper)
