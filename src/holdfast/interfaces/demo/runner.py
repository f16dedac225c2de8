"""The demo's outside runner: a program of its own that takes a job's inputs and reports back by signed callbacks.

It knows nothing of the database: only the callback URL it was given, and the one secret that was installed with it.
"""

import json
import os
import sys
import time
import urllib.request
from typing import Any
from uuid import uuid4

from holdfast.domain.callback import Token, read_token
from holdfast.domain.signature import sign


def main() -> None:
    """Install something in a region, and say so as it goes."""
    url, secret = os.environ["DEMO_CALLBACK_URL"], os.environ["DEMO_CALLBACK_SECRET"]
    run_id = f"run-{os.getpid()}"
    report(url, secret, "started", run_id=run_id)
    report(url, secret, "progress", run_id=run_id, done=1, total=2, note="installing")
    report(url, secret, "completed", run_id=run_id, result={"region": sys.argv[1], "run": run_id})


def report(url: str, secret: str, action: str, **facts: Any) -> None:
    """Send one callback, signed for the attempt that the URL names."""
    token = _token_in(url)
    said = {"job_id": str(token.job_id), "attempt": token.attempt, "claim_id": str(token.claim_id)}
    body = json.dumps({"action": action, **said, **facts}).encode()
    nonce, now = uuid4().hex, int(time.time())
    headers = {
        "webhook-id": nonce,
        "webhook-timestamp": str(now),
        "webhook-signature": sign(secret, token, nonce, now, body),
    }
    request = urllib.request.Request(url, body, headers)  # noqa: S310 - the URL that the demo itself made
    with urllib.request.urlopen(request, timeout=10):  # noqa: S310 - as above # nosec B310
        pass


def _token_in(url: str) -> Token:
    token = read_token(*url.rsplit("/", 3)[1:])
    if token is None:
        raise SystemExit(f"{url} names no attempt")
    return token


if __name__ == "__main__":
    main()
