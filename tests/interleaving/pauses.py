"""Pauses in the machine's functions: before every statement that looks at a table, a session stops until it is let go on."""

import re
from collections.abc import Iterator

import psycopg

from interleaving.touches import Functions

# Two-key advisory locks of this class are ours; the product's have one key.
CLASS = 746_000_001
# How a session that stops begins what it says.
STOPS = "interleaving: stops at gate"

_MAKE = f"""
create schema interleaving;
create sequence interleaving.turn_0;
create sequence interleaving.turn_1;
-- Every table and index with the table that it belongs to: the topmost one of its partitions.
create table interleaving.belongs as
with recursive part as (
  select c.oid, c.relname::text as name
    from pg_class c
   where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  union all
  select i.inhrelid, p.name
    from part p
    join pg_inherits i on i.inhparent = p.oid)
select oid, name, false as is_index from part
union all
select i.indexrelid, p.name, true
  from part p
  join pg_index i on i.indrelid = p.oid;
-- From where on everything that the server logs may be of this session: what it writes, and every row that it locks, though not what it fails to lock.
create function interleaving.logs_from_here() returns void language plpgsql as $$
begin
  perform set_config('interleaving.logged', pg_current_wal_insert_lsn()::text, false);
end $$;
-- What this session has touched: in which tables it looked, in which it found rows and to which it wrote, how often; tables of which it may have locked rows;
-- keys that it has locked, and those that it sought; what its caller asked, and the queries over whose rows it loops. The counts are the server's
-- own, and count what was taken back as well; they begin somewhere, so the first account tells all of them, and from then on only those of tables can have
-- changed that are locked in whatever way. Those of all their indexes: one that an insert has looked into is no longer locked.
create function interleaving.touched(p_first boolean) returns text language plpgsql security definer as $$
declare
  v_logged boolean := pg_current_wal_insert_lsn()::text is distinct from current_setting('interleaving.logged', true);
  v_told text;
begin
  with mine as materialized (
    select l.locktype, l.relation, l.classid, l.objid, l.objsubid, l.mode
      from pg_lock_status() l
     where l.pid = pg_backend_pid()),
  counted as (
    select b.name, bool_or(b.oid in (select m.relation from mine m where m.mode <> 'AccessShareLock')) as holds,
           -- Rows that were found through an index are counted there, and so are its entries, which are none yet.
           sum(pg_stat_get_xact_numscans(b.oid)) as looked,
           sum(pg_stat_get_xact_tuples_fetched(b.oid) + case when b.is_index then 0 else pg_stat_get_xact_tuples_returned(b.oid) end) as found,
           sum(pg_stat_get_xact_tuples_inserted(b.oid) + pg_stat_get_xact_tuples_updated(b.oid) + pg_stat_get_xact_tuples_deleted(b.oid)) as wrote
      from interleaving.belongs b
     where p_first or b.name in (select o.name from interleaving.belongs o where o.oid in (select m.relation from mine m))
     group by b.name)
  select json_build_object(
           'logged', v_logged,
           'looked', coalesce(json_object_agg(c.name, c.looked) filter (where c.looked > 0), '{{}}'),
           'found', coalesce(json_object_agg(c.name, c.found) filter (where c.found > 0), '{{}}'),
           'wrote', coalesce(json_object_agg(c.name, c.wrote) filter (where c.wrote > 0), '{{}}'),
           'holds', coalesce(json_agg(c.name) filter (where c.holds), '[]'),
           'keys', array(select m.classid::bigint << 32 | m.objid::bigint from mine m where m.locktype = 'advisory' and m.objsubid = 1),
           'sought', string_to_array(coalesce(current_setting('interleaving.sought', true), ''), ' ')::bigint[],
           'asked', current_query(),
           'loops', array(select o.statement from pg_cursor() o where o.statement <> current_query()),
           'took_back', coalesce(current_setting('interleaving.took_back', true), '') = 'yes')
    into v_told
    from counted c;
  perform set_config('interleaving.took_back', '', false), set_config('interleaving.sought', '', false), interleaving.logs_from_here();
  return v_told;
end $$;
-- Whoever is to be led has set its number, and says at which gate it stops and what it has touched; everybody else passes. It stops at two gates in turn:
-- the one behind it has time to be closed before it is there again. A sequence counts the turns, because nothing takes back what it gave.
create function interleaving.pause() returns void language plpgsql security definer as $$
declare
  v_session int := nullif(current_setting('interleaving.session', true), '')::int;
  v_touched text;
  v_gate int;
begin
  if v_session is not null then
    v_touched := interleaving.touched(false);
    v_gate := 2 * v_session + (nextval('interleaving.turn_' || v_session) % 2)::int;
    raise notice '{STOPS} % %', v_gate, v_touched;
    perform pg_advisory_lock_shared({CLASS}, v_gate);
    perform pg_advisory_unlock_shared({CLASS}, v_gate);
    perform interleaving.logs_from_here();
  end if;
end $$;
-- What stands in a block that failed was taken back, and its locks with it.
create function interleaving.takes_back() returns void language plpgsql as $$
begin
  perform set_config('interleaving.took_back', 'yes', false);
end $$;
-- The server shows who has a key and who waits for one, and not who asked for it in vain: whoever is led says which it seeks before it does.
create function interleaving.seeks(p_key bigint) returns void language plpgsql as $$
begin
  if nullif(current_setting('interleaving.session', true), '') is not null then
    perform set_config('interleaving.sought', ltrim(coalesce(current_setting('interleaving.sought', true), '') || ' ' || p_key), false);
  end if;
end $$;
-- They cost what the server's own cost, so that they are asked in the same order as those.
create function interleaving.pg_advisory_xact_lock(p_key bigint) returns void language plpgsql cost 1 as $$
begin
  perform interleaving.seeks(p_key);
  perform pg_catalog.pg_advisory_xact_lock(p_key);
end $$;
create function interleaving.pg_try_advisory_xact_lock(p_key bigint) returns boolean language plpgsql cost 1 as $$
begin
  perform interleaving.seeks(p_key);
  return pg_catalog.pg_try_advisory_xact_lock(p_key);
end $$;
grant usage on schema interleaving to public;
"""
# What no account of a step would show: what is done at a commit, and locks on rows that are not logged.
_HIDDEN = """
select format('constraint %I can be deferred: commits do its work', c.conname)
  from pg_constraint c
 where c.connamespace = 'holdfast'::regnamespace and c.condeferrable
union all
select format('table %I is not logged: nobody hears who locks its rows', c.relname)
  from pg_class c
 where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p') and c.relpersistence <> 'p'
"""
_FUNCTIONS = """
select p.prosrc, l.lanname = 'plpgsql' and p.provolatile = 'v' as stops, pg_get_functiondef(p.oid)
  from pg_proc p
  join pg_language l on l.oid = p.prolang
 where p.pronamespace = 'holdfast'::regnamespace and p.prokind in ('f', 'p')
"""
# Functions of triggers all of which fire when the statement that fires them has come to its end.
_FIRE_AFTER = """
select p.proname
  from pg_trigger t
  join pg_proc p on p.oid = t.tgfoid
 where p.pronamespace = 'holdfast'::regnamespace
 group by p.proname
having bool_and(t.tgtype & 66 = 0 and not t.tgdeferrable)   -- neither BEFORE nor INSTEAD OF
"""
# Functions none of whose statements see what their caller's statement sees, and that nobody can take for a table.
_BEGIN_ANEW = """
select p.proname
  from pg_proc p
  join pg_language l on l.oid = p.prolang
 where p.pronamespace = 'holdfast'::regnamespace
   and not exists (select from pg_class c where c.relnamespace = p.pronamespace and c.relname = p.proname)
 group by p.proname
having bool_and(l.lanname = 'plpgsql' and p.provolatile = 'v')
"""
_TEXTS = """
select p.proname, p.prosrc
  from pg_proc p
  join pg_language l on l.oid = p.prolang
 where p.pronamespace = 'holdfast'::regnamespace and l.lanname = 'plpgsql'
"""
# Of a function's text: comments and quoted things are passed over as one; words and everything else one by one.
_TOKEN = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"[^\"]*\"|\w+|.", re.DOTALL)
_KEY = re.compile(r"(?<![\w.])(pg_(?:try_)?advisory_xact_lock)(?=\s*\()", re.IGNORECASE)
_SILENT_KEY = re.compile(r"(?<!interleaving\.)\bpg_\w*advisory\w*(?=\s*\()", re.IGNORECASE)
_TABLE = re.compile(r"\b(?:from|join|into|update)\s+(?:only\s+)?holdfast\.\w+(?!\w*\()", re.IGNORECASE)
_CALLED = re.compile(r"\bholdfast\.(\w+)\s*\(", re.IGNORECASE)


def put_pauses(connection: psycopg.Connection) -> int:
    """Write every function of the machine anew with pauses; says how many there are."""
    assert not (hidden := connection.execute(_HIDDEN).fetchall()), hidden
    connection.execute(_MAKE)
    put = 0
    for body, stops, definition in connection.execute(_FUNCTIONS).fetchall():
        # A body in standard SQL has no text of its own: it stands in the definition alone.
        changed = telling_keys(definition.replace(body, with_pauses(body)) if stops else definition)
        if changed != definition:
            put += changed.count("interleaving.pause()")
            connection.execute(changed.encode())
    return put


def known_functions(connection: psycopg.Connection) -> Functions:
    """Say of the machine's functions what tells whether a statement that stops within one goes on to look."""
    fire_after, begin_anew = (
        frozenset(name for (name,) in connection.execute(question)) for question in (_FIRE_AFTER, _BEGIN_ANEW)
    )
    calls: dict[str, list[frozenset[str]]] = {}
    for name, body in connection.execute(_TEXTS):
        calls.setdefault(name, []).extend(frozenset(_CALLED.findall(text)) for text, _ in _statements(body))
    return Functions(fire_after, begin_anew, calls)


def telling_keys(definition: str) -> str:
    """Have whatever locks an advisory key say so; a lock of another kind would be sought in silence."""
    told = _KEY.sub(r"interleaving.\1", definition)
    assert not (silent := _SILENT_KEY.search(told)), f"nobody hears of {silent[0]}"
    return told


def with_pauses(body: str) -> str:
    """Put a pause before each statement of a plpgsql body that names a table, and have it say what no count shows."""
    return "".join(
        f"perform interleaving.pause(); {text}" if pauses else text for text, pauses in _statements(body)
    )


def _statements(body: str) -> Iterator[tuple[str, bool]]:
    """Cut a body into statements and the words between them; says of each whether a pause may stand before it."""
    tokens = [match[0] for match in _TOKEN.finditer(body)]
    at = 0
    declares = True  # what is declared is worked out before the first statement
    handles = False  # what a block does after it has failed
    while at < len(tokens):
        end = _end(tokens, at)
        text = "".join(tokens[at:end])
        word = tokens[at].lower()
        if word == "begin":
            declares = False
        elif word == "declare":
            declares = True
        handles = word == "exception" or (handles and word != "end")
        if handles and word == "when":
            text += " perform interleaving.takes_back();"
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
