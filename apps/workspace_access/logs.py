"""Log lines of the type `advisor_matching`: the product's own, and what the engine says about its jobs, in the product's words."""

import logging

TYPE = "advisor_matching"
PROVISIONING = "provision_workspace"

_log = logging.getLogger(TYPE)


def tell(event: str, level: int = logging.INFO, **facts: object) -> None:
    """Write a line."""
    _log.log(level, event, extra={"type": TYPE, **facts})


class FromTheEngine(logging.Handler):
    """Hears the engine's lines: a retry of ours, and whatever goes wrong with a worker."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say it in our words."""
        said = record.__dict__
        if record.msg == "job:retry" and said.get("task") == PROVISIONING and "error" in said:
            tell(
                "retry", logging.WARNING, attempt=said["attempt"], maxAttempts=said["max_retries"] + 1,
                error=said["error"], nextRetryIn=said["retry_in"],
            )  # fmt: skip
        elif record.levelno >= logging.ERROR:
            tell(
                "worker error",
                logging.ERROR,
                instanceId=said.get("worker"),
                error=said.get("error", record.getMessage()),
            )


def listen() -> None:
    """Hear the engine from now on; once is enough."""
    engine = logging.getLogger("holdfast")
    if not any(isinstance(handler, FromTheEngine) for handler in engine.handlers):
        engine.addHandler(FromTheEngine())
