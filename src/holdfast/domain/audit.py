"""What must hold of jobs, their histories and the guards around them; and, where it does not, what a person does about it."""

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from holdfast.domain.errors import HoldfastError
from holdfast.domain.states import LEGAL_MOVES

EDGES = tuple(f"{before}>{after}" for before, moves in LEGAL_MOVES.items() for after in sorted(moves))
# Tokens of approvals and login links, keys, cookies, secrets of executors and of webhooks: none belongs into a history.
SECRET_PATTERN = (
    "hf[al]_[A-Za-z0-9_-]{43}|hfk_[A-Za-z0-9]{12}_[A-Za-z0-9]{43}|hf[sd]_[A-Za-z0-9]{43}|hfx_[0-9a-f]{64}"  # noqa: S105 - how secrets look, not one of them
    "|whsec_[A-Za-z0-9+/_-]{24}"
)


class Rule(NamedTuple):
    """One of the auditor's rules: what holds, and what to do when it does not."""

    holds: str
    advice: str


_TAMPERED = (
    "only somebody with the owner's or a superuser's rights can have written this: keep a copy of the rows, find out who "
    "(the server's log), and compare with a backup before anything is changed"
)
_OURS = "no call of Holdfast's leaves this behind: keep a copy of the rows and report it, or find out who wrote to the tables past the functions"
_PROJECTED = (
    "what people read is wrong, the jobs are not: compare with holdfast job show; the counts can be made anew from the history "
    "while it is kept, by hand, once it is known who wrote them"
)
_MIGRATE = "run holdfast db migrate with this release; if that finds nothing to do, put the guard back from holdfast db sql, and find out who took it away"
_TWO_JOBS = (
    "look at both (holdfast job show): cancel one that has not ended (holdfast job cancel); where both have, their work was done twice: "
    "put that right in your own data first, then remove the one too many (holdfast job delete); last, "
)
_WAKE = "start a worker: its sweeper takes care of it within a lease; if this stays, it is a defect, and holdfast job cancel ends the job"

RULES: dict[str, Rule] = {
    "A01": Rule("a job's status is that of its newest history row", _TAMPERED),
    "A02": Rule("a history is numbered from 1 without a gap", _TAMPERED),
    "A03": Rule("a move begins where the last one ended", _TAMPERED),
    "A04": Rule("every move is legal", _TAMPERED),
    "A05": Rule("nothing leaves a terminal status", _TAMPERED),
    "A06": Rule("a job is born PENDING, before its first attempt", _TAMPERED),
    "A07": Rule("a job's seq is that of its newest history row", _TAMPERED),
    "A08": Rule("a claim counts one attempt, and nothing else does", _TAMPERED),
    "A09": Rule("a job's attempt is the number of its claims", _TAMPERED),
    "A10": Rule("a job's columns fit its status, and its error its history", _TAMPERED),
    "A11": Rule("retries stay within what is allowed, and are those of the history", _TAMPERED),
    "A12": Rule("at rest no lease and no deadline is overdue", _WAKE),
    "A13": Rule(
        "the times of a job go forward, and none is of the future",
        "look at the server's clock first: if it was set back, this is its trace; otherwise " + _TAMPERED,
    ),
    "A14": Rule("at rest nothing waits for what nobody will bring", _WAKE),
    "B04": Rule("one job holds a key", _TWO_JOBS + _MIGRATE),
    "B05": Rule("a job that has a history is there", "restore it from a backup; " + _TAMPERED),
    "B06": Rule("the counts by status are those of the jobs", _PROJECTED),
    "B07": Rule("a job that has ended holds its key as the key's scope says", _TAMPERED),
    "B08": Rule("a failed job is retried once", _TWO_JOBS + _MIGRATE),
    "C02": Rule("an attempt has one outcome", _TAMPERED),
    "C03": Rule("what is kept of an attempt is what the history says of it", _TAMPERED),
    "C04": Rule(
        "steps, checkpoints, progress, questions and runs are written by an attempt that owns the job", _OURS
    ),
    "D01": Rule("whoever waited for an approval goes on because it was decided, in time", _TAMPERED),
    "D02": Rule("a decision has its consequence, and an open question a job that waits for it", _OURS),
    "D03": Rule("an approval is decided once, by as many as it needs", _TAMPERED),
    "D04": Rule(
        "no token, no key and no secret is in a history",
        "void it: decide the approval or mint another token, revoke the key, log the person out, give executor or sender another secret; "
        "then find the code that wrote it",
    ),
    "D05": Rule("who decides may decide, and does not decide about their own request", _TAMPERED),
    "D06": Rule("what was decided is what was asked", _TAMPERED),
    "E01": Rule("a callback counts for the attempt that was handed over", _TAMPERED),
    "E02": Rule("an attempt's run ends once", _OURS),
    "E03": Rule("an event of a webhook is one delivery, and its jobs are its own", _OURS),
    "E04": Rule("no callback counts after the job has ended", _OURS),
    "E05": Rule("a run is out exactly while its job is in its hands", _OURS),
    "F01": Rule("what an attempt left was left by an attempt that was made", _TAMPERED),
    "F02": Rule(
        "what belongs together belongs to one tenant",
        "keep both tenants from it (pause the task) and find out who wrote it: " + _TAMPERED,
    ),
    "F03": Rule("nothing belongs to a job, an approval or a holder that is not there", _OURS),
    "F04": Rule(
        "a time of a schedule fires once or is written down as passed over, and what fired is its job",
        "if workers and this process do not have the same time zone data, or read the line differently (another release), "
        "this is the trace of that; otherwise " + _OURS,
    ),
    "F05": Rule(
        "who has ended, or never may, holds no slot, no start and no wait",
        _OURS + "; until then the slot is taken: delete its row as the owner",
    ),
    "F06": Rule(
        "at rest what runs holds a slot of each of its limits",
        "if the limit was changed while the job ran, this goes away with its end; otherwise " + _OURS,
    ),
    "G01": Rule("every projected move of a job with a subject is in its channel once", _PROJECTED),
    "G02": Rule("the feed tells what the history says", _PROJECTED),
    "G03": Rule("the feed tells of a job in the order of its history", _PROJECTED),
    "G04": Rule("the ids of a channel have no gap", _PROJECTED),
    "G05": Rule("usage is what the history adds up to", _PROJECTED),
    "G06": Rule("statistics are what the history adds up to", _PROJECTED),
    "G07": Rule("histograms have as many as the minutes", _PROJECTED),
    "F07": Rule("what is retried has failed, what is undone has failed or was cancelled", _TAMPERED),
    "H01": Rule(
        "every guard trigger is there, as released, no setting walks past it (ENABLE ALWAYS), and no rewrite rule",
        _MIGRATE,
    ),
    "H02": Rule(
        "functions with the owner's rights pin their search_path, the temporary schema last", _MIGRATE
    ),
    "H03": Rule("nothing of Holdfast's is everybody's", _MIGRATE),
    "H04": Rule(
        "every constraint is validated",
        "validate it as the owner; the rows that refuse it are what is wrong",
    ),
    "H05": Rule(
        "every table with rows of tenants has its row level security, with the policies of this release",
        _MIGRATE,
    ),
    "H06": Rule(
        "no login writes a table, owns one, or walks past the policies, and roles may what this release lets them",
        "revoke what is too much (grant again what is gone: holdfast db sql has it), and let applications log in with "
        "holdfast_producer, holdfast_worker or holdfast_api alone",
    ),
    "H07": Rule(
        "a history is the one that its moves wrote: its chain ends in the head on its job's row, and goes through every head that was kept",
        _TAMPERED,
    ),
    "H08": Rule("every function and view is, word for word, this release's", _MIGRATE),
    "H09": Rule(
        "every index and constraint is there, as released, and valid",
        "make it again from holdfast db sql (reindex, or create and validate); if rows refuse it, they are what is wrong",
    ),
    "H10": Rule(
        "database and release are of one age",
        "run the audit with the release that the database has, or holdfast db migrate first",
    ),
    "I01": Rule(
        "at rest no session is idle in a transaction",
        "end it (pg_terminate_backend), and find the code that forgets to commit",
    ),
    "I02": Rule(
        "no transaction is left prepared",
        "commit prepared or rollback prepared it: until then its locks and its snapshot stay",
    ),
    "I03": Rule(
        "at rest nobody waits for a lock",
        "select pg_blocking_pids(pid) says who holds it: let that session end its transaction, or end it (pg_terminate_backend) "
        "when nobody needs it any more",
    ),
    "I04": Rule(
        "no checksum failed",
        "the disk or its cable lies: take a backup now, run pg_amcheck, and move to another disk",
    ),
    "I05": Rule(
        "no guard of the tables had to refuse a write",
        "nothing was written, and yet somebody wrote past the functions, or a function is wrong: the server's log has the statement "
        "(HF001, HF003); once that is understood, count anew as the owner: alter sequence holdfast.refusal restart",
    ),
    "I06": Rule(
        "vacuum keeps up, no snapshot is old, notifications are read",
        "what works (a backup, a report) ends by itself; a session that forgot its transaction is ended with pg_terminate_backend(pid), a "
        "prepared one with rollback prepared; then: vacuum; holdfast doctor shows whether it helped",
    ),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that should not be: which rule is broken, by which job if it is one, and how."""

    code: str
    job_id: UUID | None
    what: str

    @property
    def rule(self) -> str:
        """What should hold."""
        return RULES[self.code].holds

    @property
    def advice(self) -> str:
        """What to do about it."""
        return RULES[self.code].advice


class NotChecked(NamedTuple):
    """Rules that were not looked at, or only in part, and why: who reads the findings must not take that for a pass."""

    codes: tuple[str, ...]
    why: str


class AuditUnfinished(HoldfastError):
    """A part of an audit could not be looked at to its end; what was found before it stands."""

    def __init__(self, part: str, why: str) -> None:
        super().__init__(f"the audit was not finished: {part}: {why}")
        self.part = part
