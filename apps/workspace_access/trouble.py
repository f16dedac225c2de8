"""What goes wrong, by the codes that callers know."""

from enum import StrEnum


class Code(StrEnum):
    """What the caller is told went wrong."""

    FEATURE_DISABLED = "FEATURE_DISABLED"
    ALREADY_PROVISIONED = "ALREADY_PROVISIONED"
    PROJECT_NOT_FOUND = "PROJECT_NOT_FOUND"
    ADVISOR_NOT_FOUND = "ADVISOR_NOT_FOUND"
    DATABASE_ERROR = "DATABASE_ERROR"
    CHAT_SESSION_ERROR = "CHAT_SESSION_ERROR"
    MATCH_NOT_FOUND = "MATCH_NOT_FOUND"
    MATCH_CLOSED = "MATCH_CLOSED"
    NOT_FOUND = "NOT_FOUND"
    FORBIDDEN = "FORBIDDEN"
    INVALID_REQUEST = "INVALID_REQUEST"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"


WORDS = {
    Code.FEATURE_DISABLED: "workspaces are not opened at the moment; yours is in line",
    Code.ALREADY_PROVISIONED: "the advisor is in the workspace already",
    Code.PROJECT_NOT_FOUND: "there is no such project",
    Code.ADVISOR_NOT_FOUND: "the advisor is gone",
    Code.DATABASE_ERROR: "the workspace could not be written",
    Code.CHAT_SESSION_ERROR: "the advisor's chat could not be opened",
    Code.MATCH_NOT_FOUND: "there is no such match",
    Code.MATCH_CLOSED: "this match can no longer be decided",
    Code.NOT_FOUND: "there is nothing here",
    Code.FORBIDDEN: "this is not yours to decide",
    Code.IDEMPOTENCY_KEY_REUSED: "this idempotency key came with another request before",
}


class Trouble(Exception):
    """Something that a caller is told by a code; trying again helps, or it does not."""

    def __init__(
        self, code: Code, said: str = "", *, recoverable: bool = False, sqlstate: str | None = None
    ) -> None:
        self.code = code
        self.said = said or WORDS[code]
        self.recoverable = recoverable
        self.sqlstate = sqlstate  # of the database's error behind it, by which the engine classifies
        super().__init__(f"{code}: {self.said}")
