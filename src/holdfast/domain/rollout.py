"""Rollout by a stable hash: the same key always has the same position, in Python and in SQL (holdfast.rollout_position)."""

import hashlib


def _number(key: object) -> int:
    digest = hashlib.md5(str(key).encode(), usedforsecurity=False).hexdigest()
    return int(digest[-8:], 16)  # unsigned: read signed, half of all keys would fall below zero


def rollout_bucket(key: object) -> int:
    """Tell in which of ten buckets a key is, 0 to 9."""
    return _number(key) % 10


def rollout_position(key: object) -> int:
    """Tell at how many percent a key is let through: at every share above its position, 0 to 99.

    The tens are the bucket, so that 10 % is bucket 0 and 50 % are the buckets 0 to 4.
    """
    number = _number(key)
    return number % 10 * 10 + number // 10 % 10
