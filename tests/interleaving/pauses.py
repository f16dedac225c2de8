"""Pauses in the machine's functions: before every statement that looks at a table, a session stops until it is let go on."""

import re
from collections.abc import Iterator

import psycopg

# Two-key advisory locks of this class are ours; the product's have one key.
CLASS = 746_000_001

_MAKE = f"""
create schema interleaving;
create sequence interleaving.turn_0;
create sequence interleaving.turn_1;
-- Whoever is to be led has set its number; everybody else passes. It stops at two gates in turn: the one behind it has time to be closed
-- before it is there again, however fast it runs. A sequence counts the turns, because nothing takes back what it gave.
create function interleaving.pause() returns void language plpgsql security definer as $$
declare
  v_session int := nullif(current_setting('interleaving.session', true), '')::int;
  v_gate int;
begin
  if v_session is not null then
    v_gate := 2 * v_session + (nextval('interleaving.turn_' || v_session) % 2)::int;
    perform pg_advisory_lock_shared({CLASS}, v_gate);
    perform pg_advisory_unlock_shared({CLASS}, v_gate);
  end if;
end $$;
grant usage on schema interleaving to public;
"""
_FUNCTIONS = """
select p.oid, p.prosrc, pg_get_functiondef(p.oid)
  from pg_proc p
  join pg_language l on l.oid = p.prolang
 where p.pronamespace = 'holdfast'::regnamespace and l.lanname = 'plpgsql' and p.provolatile = 'v'
"""
# Of a function's text: comments and quoted things are passed over as one; words and everything else one by one.
_TOKEN = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"[^\"]*\"|\w+|.", re.DOTALL)
_TABLE = re.compile(r"\b(?:from|join|into|update)\s+(?:only\s+)?holdfast\.\w+(?!\w*\()", re.IGNORECASE)


def put_pauses(connection: psycopg.Connection) -> int:
    """Write every function of the machine anew with pauses; says how many there are."""
    connection.execute(_MAKE)
    put = 0
    for _, body, definition in connection.execute(_FUNCTIONS).fetchall():
        paused = with_pauses(body)
        if paused != body:
            put += paused.count("interleaving.pause()")
            connection.execute(definition.replace(body, paused).encode())
    return put


def with_pauses(body: str) -> str:
    """Put a pause before each statement of a plpgsql body that names a table."""
    return "".join(
        f"perform interleaving.pause(); {text}" if pauses else text for text, pauses in _statements(body)
    )


def _statements(body: str) -> Iterator[tuple[str, bool]]:
    """Cut a body into statements and the words between them; says of each whether a pause may stand before it."""
    tokens = [match[0] for match in _TOKEN.finditer(body)]
    at = 0
    declares = True  # what is declared is worked out before the first statement
    while at < len(tokens):
        end = _end(tokens, at)
        text = "".join(tokens[at:end])
        word = tokens[at].lower()
        if word == "begin":
            declares = False
        elif word == "declare":
            declares = True
        stands_alone = not declares and word not in _BETWEEN
        yield text, stands_alone and bool(_TABLE.search(text))
        at = end


# Words after which a statement begins, and those that belong to the statement before.
_OPENING = ("begin", "else", "loop", "exception", "declare")
_BETWEEN = (*_OPENING, "elsif", "when", "end", "case")
_CLOSED_BY = {
    "if": "then",
    "elsif": "then",
    "when": "then",
    "for": "loop",
    "foreach": "loop",
    "while": "loop",
}


def _end(tokens: list[str], at: int) -> int:
    """Find where the statement that begins here ends."""
    word = tokens[at].lower()
    if word in _OPENING or word.isspace() or word.startswith("--"):
        return at + 1
    closing = _CLOSED_BY.get(word, ";")
    depth = 0  # of parentheses and of CASE expressions, whose words are not the statement's
    for place in range(at + 1, len(tokens)):
        token = tokens[place].lower()
        if word == "case" and depth == 0 and token == "when":
            return place
        if token in ("(", "case") and word != "end":
            depth += 1
        elif token == ")" or (token == "end" and depth):
            depth -= 1
        elif token == closing and depth == 0:
            return place + 1
    return len(tokens)
