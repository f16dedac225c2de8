"""Doctor's examination: asks the database for the facts and lets the domain judge them, whatever cannot be asked."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from holdfast.domain.alert_health import judge_outbox
from holdfast.domain.errors import Configuration, DatabaseUnavailable, HoldfastError, NotAllowed
from holdfast.domain.executor_health import judge_calls
from holdfast.domain.health import (
    FAILURE_WINDOW,
    Check,
    Facts,
    ServerInfo,
    Verdict,
    check_own_clock,
    check_roles,
    judge,
)
from holdfast.domain.schedule_health import judge_schedules
from holdfast.runtime.keys import MASTER_KEY, master_keys
from holdfast.store import alert, overview
from holdfast.store.connection import Database, Session
from holdfast.store.dispatch import overdue_calls
from holdfast.store.listen import hears_itself
from holdfast.store.migrate import OLDEST_SERVER, SchemaState, read_state
from holdfast.store.schedule import schedules

_POOLER = (
    "a pooler in transaction mode swallows LISTEN: workers poll every second instead; "
    "give workers a direct address, and HOLDFAST_PREPARED_STATEMENTS=off behind the pooler"
)


def examine(find: Callable[[], Database], *, roles_required: bool) -> Iterator[Check]:
    """Look at everything, and stop early when nothing further can be known."""
    yield from _secret_key()
    try:
        database = find()
    except Configuration as error:
        yield Check("database", Verdict.FAIL, str(error))
        return
    session = Session(database, "holdfast doctor")
    try:
        server = session.perform(overview.server())
    except HoldfastError as error:
        yield Check(
            "database",
            Verdict.FAIL,
            str(error),
            f"is PostgreSQL running at {database.described}? ({database.source})",
        )
        return
    try:
        yield from _examine_server(database, session, server, roles_required=roles_required)
    finally:
        session.close()


def _examine_server(
    database: Database, session: Session, server: ServerInfo, *, roles_required: bool
) -> Iterator[Check]:
    here = datetime.now(UTC)
    yield _version(database, server)
    try:
        state = read_state(session.connection())
    except NotAllowed as error:
        yield Check("schema", Verdict.FAIL, str(error))
        return
    yield _schema(state)
    yield _listen(database)
    yield check_own_clock(server, here)
    if state.owner is None or state.problem() is not None:
        return
    yield check_roles(server, state.has_roles, roles_required)
    try:
        yield from judge(_facts(session))
        yield from judge_schedules(session.perform(schedules()))
        yield judge_calls(session.perform(overdue_calls()))
        yield from judge_outbox(session.perform(alert.outbox()))
    except HoldfastError as error:
        advice = "doctor needs a login with holdfast_api"
        yield Check("queues", Verdict.WARN, f"this login may not look: {error}", advice)


def _secret_key() -> Iterator[Check]:
    """Judge the key that executors' secrets are derived from, where there is one."""
    try:
        keys = master_keys()
    except Configuration as error:
        yield Check("secret key", Verdict.FAIL, str(error))
        return
    if keys:
        overlap = ", and the one before it" if len(keys) > 1 else ""
        yield Check("secret key", Verdict.OK, f"{MASTER_KEY} is strong enough{overlap}")


def _version(database: Database, server: ServerInfo) -> Check:
    told = f"PostgreSQL {server.version} at {database.described} ({database.source})"
    if server.version_number < OLDEST_SERVER:
        return Check("database", Verdict.FAIL, told, "Holdfast needs PostgreSQL 15 or newer")
    return Check("database", Verdict.OK, told)


def _schema(state: SchemaState) -> Check:
    problem = (
        state.problem()
        if state.owner is not None
        else "this database has no Holdfast schema; run: holdfast db migrate"
    )
    if problem is not None:
        return Check("schema", Verdict.FAIL, problem)
    return Check("schema", Verdict.OK, f"current ({len(state.installed)} parts)")


def _listen(database: Database) -> Check:
    try:
        heard = hears_itself(database)
    except DatabaseUnavailable as error:
        return Check(
            "listen",
            Verdict.WARN,
            str(error),
            "doctor could not open two more connections: see max_connections",
        )
    if heard:
        return Check("listen", Verdict.OK, "notifications pass")
    return Check(
        "listen", Verdict.WARN, "a notification sent on one connection was not heard on another", _POOLER
    )


def _facts(session: Session) -> Facts:
    queues = session.perform(overview.queues())
    return Facts(
        queues=queues,
        workers=session.perform(overview.workers()),
        homeless=session.perform(
            overview.homeless_tasks([queue.name for queue in queues if queue.workers and queue.waiting])
        ),
        ends=session.perform(overview.recent_ends(FAILURE_WINDOW)),
        storage=session.perform(overview.storage()),
    )
