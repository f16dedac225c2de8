"""Secrets that are tried first: placeholders from somebody's manual, repetitions, runs along the alphabet or the keyboard.

It knows no list of leaked passwords: what it lets through is not thereby good.
"""

from itertools import pairwise

_FEWEST_DISTINCT = 5
_LEAST_OF_ITS_OWN = 7
_MOST_IN_RUNS = 0.75
_ROWS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")
# Longest first: what is cut out must not leave half of a longer one behind.
_WORDS = sorted(
    (
        "admin", "administrator", "change", "changeit", "changeme", "correct", "battery", "default", "development", "django", "dummy",
        "example", "fixme", "generate", "here", "holdfast", "horse", "insecure", "key", "letmein", "long", "master", "passphrase",
        "password", "passwort", "placeholder", "please", "put", "qwerty", "random", "replace", "root", "sample", "secret", "secure",
        "some", "staple", "string", "super", "supersecret", "test", "this", "token", "with", "welcome", "your",
    ),
    key=len,
    reverse=True,
)  # fmt: skip


def is_guessable(secret: str) -> bool:
    """Whether a secret is one that is tried first."""
    plain = secret.lower()
    return len(set(plain)) < _FEWEST_DISTINCT or _repeats(plain) or _runs(plain) or _is_placeholder(plain)


def _repeats(text: str) -> bool:
    return any(
        all(text[n] == text[n % period] for n in range(len(text))) for period in range(1, len(text) // 2 + 1)
    )


def _runs(text: str) -> bool:
    steps = [_is_step(one, other) for one, other in pairwise(text)]
    return bool(steps) and sum(steps) / len(steps) > _MOST_IN_RUNS


def _is_step(one: str, other: str) -> bool:
    if abs(ord(one) - ord(other)) <= 1:
        return True
    return any(one in row and other in row and abs(row.index(one) - row.index(other)) == 1 for row in _ROWS)


def _is_placeholder(text: str) -> bool:
    rest = text
    for word in _WORDS:
        rest = rest.replace(word, " ")
    return rest != text and len(set(filter(str.isalnum, rest))) < _LEAST_OF_ITS_OWN
