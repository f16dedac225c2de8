"""Idempotency keys: for an hour, the same key of the same person gets the same answer."""

import hashlib
import json
from typing import Any
from uuid import UUID

from apps.workspace_access.trouble import Code, Trouble

_FORGET = """
delete from workspace_access.idempotency_keys where created_at <= holdfast.clock() - interval '1 hour'
"""
_TAKE = """
insert into workspace_access.idempotency_keys (user_id, key, request) values (%s, %s, %s) on conflict do nothing
"""
_RECALL = """
select k.request, k.answer from workspace_access.idempotency_keys k where k.user_id = %s and k.key = %s
"""
_KEEP = "update workspace_access.idempotency_keys set answer = %s where user_id = %s and key = %s"


async def recall(conn: Any, user: UUID, key: str | None, request: bytes) -> Any:
    """Give the answer that a key had before; who asks the same at the same time waits here for it."""
    if key is None:
        return None
    digest = hashlib.sha256(request).digest()
    await conn.execute(_FORGET)
    if (await conn.execute(_TAKE, (user, key, digest))).rowcount:
        return None
    before, answer = await (await conn.execute(_RECALL, (user, key))).fetchone()
    if before != digest:
        raise Trouble(Code.IDEMPOTENCY_KEY_REUSED)
    return answer


async def keep(conn: Any, user: UUID, key: str | None, answer: dict[str, Any]) -> None:
    """Keep the answer, in the transaction of what it tells."""
    if key is not None:
        await conn.execute(_KEEP, (json.dumps(answer), user, key))
