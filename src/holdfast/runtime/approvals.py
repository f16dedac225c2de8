"""Deciding approvals: as a person whom the caller vouches for, or by a token; `app.approvals`."""

import os
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias, get_args
from uuid import UUID

from holdfast.domain.approval import TOKEN_PREFIX, Answer, Approval, Invitation, Told, Verdict, accepted
from holdfast.domain.errors import ApprovalNotFound, BadInput, Configuration
from holdfast.runtime.handle import as_uuid
from holdfast.store import approval as store
from holdfast.store.approval import Scope
from holdfast.store.call import Call

if TYPE_CHECKING:
    from holdfast.runtime.link import Link

BASE_URL_VARIABLE = "HOLDFAST_BASE_URL"
Listed: TypeAlias = list[Approval]  # a name of its own: inside the class, `list` is the method


def new_token() -> str:
    """Make the secret of one approver: 256 random bits."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


class Approvals:
    """What an app's people are asked. Each method has an async twin that begins with `a`."""

    def __init__(self, link: "Link", base_url: Callable[[], str | None] = lambda: None) -> None:
        self._link = link
        self._base_url = base_url

    # -- deciding as a person ----------------------------------------------------------------------------------------------

    def approve(
        self,
        approval_id: UUID | str,
        *,
        actor: str,
        reason: str | None = None,
        origin: str | None = None,
        seen_hash: str | None = None,
    ) -> Answer:
        """Approve for a person. Raises ApprovalNotFound, ApprovalClosed (says who was first) or ApprovalRefused (says why)."""
        return self._decided(as_uuid(approval_id), actor, "approve", reason, origin, seen_hash)

    def deny(
        self,
        approval_id: UUID | str,
        *,
        actor: str,
        reason: str,
        origin: str | None = None,
        seen_hash: str | None = None,
    ) -> Answer:
        """Deny for a person; the job fails with the reason. Raises as approve does."""
        return self._decided(as_uuid(approval_id), actor, "deny", reason, origin, seen_hash)

    async def aapprove(
        self,
        approval_id: UUID | str,
        *,
        actor: str,
        reason: str | None = None,
        origin: str | None = None,
        seen_hash: str | None = None,
    ) -> Answer:
        """Approve for a person; see approve."""
        return await self._adecided(as_uuid(approval_id), actor, "approve", reason, origin, seen_hash)

    async def adeny(
        self,
        approval_id: UUID | str,
        *,
        actor: str,
        reason: str,
        origin: str | None = None,
        seen_hash: str | None = None,
    ) -> Answer:
        """Deny for a person; see deny."""
        return await self._adecided(as_uuid(approval_id), actor, "deny", reason, origin, seen_hash)

    def approve_together(
        self,
        seen: Mapping[UUID, str],
        *,
        actor: str,
        reason: str | None = None,
        origin: str | None = None,
    ) -> list[Told]:
        """Approve several for a person: ids, each with the bound_hash that was seen. Says of each what came of it.

        Only gates that say bulk=True are decided like this; the others are refused, and change nothing for the rest.
        """
        return self._link.perform(store.approve_together(list(seen.items()), actor, reason, origin))

    async def aapprove_together(
        self,
        seen: Mapping[UUID, str],
        *,
        actor: str,
        reason: str | None = None,
        origin: str | None = None,
    ) -> list[Told]:
        """Approve several for a person; see approve_together."""
        return await self._link.aperform(store.approve_together(list(seen.items()), actor, reason, origin))

    def _decided(
        self,
        approval_id: UUID,
        actor: str,
        verdict: Verdict,
        reason: str | None,
        origin: str | None,
        seen: str | None,
    ) -> Answer:
        answer = self._link.perform(store.decide(approval_id, actor, verdict, reason, origin, seen))
        return accepted(approval_id, answer, actor, verdict)

    async def _adecided(
        self,
        approval_id: UUID,
        actor: str,
        verdict: Verdict,
        reason: str | None,
        origin: str | None,
        seen: str | None,
    ) -> Answer:
        answer = await self._link.aperform(store.decide(approval_id, actor, verdict, reason, origin, seen))
        return accepted(approval_id, answer, actor, verdict)

    # -- tokens --------------------------------------------------------------------------------------------------------------

    def mint_token(self, approval_id: UUID | str, approver: str) -> Invitation:
        """Make an approver's token for one delivery; the one before is void from then on."""
        return self._link.perform(store.mint_token(as_uuid(approval_id), approver, new_token()))

    async def amint_token(self, approval_id: UUID | str, approver: str) -> Invitation:
        """Make an approver's token for one delivery; see mint_token."""
        return await self._link.aperform(store.mint_token(as_uuid(approval_id), approver, new_token()))

    def page_of(self, approval_id: UUID | str, token: str) -> str:
        """Write the link to the page where a token decides; it stands in the fragment, which no server and no log gets to see."""
        base = (self._base_url() or os.environ.get(BASE_URL_VARIABLE, "")).rstrip("/")
        if not base.startswith(("https://", "http://")):
            raise Configuration(
                f"approvers get a link, and nobody said where to: set {BASE_URL_VARIABLE}=https://…"
            )
        return f"{base}/a/{approval_id}#{token}"

    def decide_by_token(
        self,
        approval_id: UUID | str,
        token: str,
        verdict: Verdict,
        *,
        reason: str | None = None,
        origin: str | None = None,
        seen_hash: str | None = None,
    ) -> Answer:
        """Decide with a token; answers `unknown`, and nothing else, whenever the token is not right.

        It is performed once: a token is used up by its decision, so a repeat would be answered `unknown`.
        """
        call = _by_token(approval_id, token, verdict, reason, origin, seen_hash)
        return UNKNOWN if call is None else self._link.perform_once(call)

    async def adecide_by_token(
        self,
        approval_id: UUID | str,
        token: str,
        verdict: Verdict,
        *,
        reason: str | None = None,
        origin: str | None = None,
        seen_hash: str | None = None,
    ) -> Answer:
        """Decide with a token; see decide_by_token."""
        call = _by_token(approval_id, token, verdict, reason, origin, seen_hash)
        return UNKNOWN if call is None else await self._link.aperform_once(call)

    # -- reading -------------------------------------------------------------------------------------------------------------

    def get(self, approval_id: UUID | str) -> Approval:
        """Read one approval: what is asked, of whom, and who said what."""
        return _found(self._link.perform(store.find_approval(as_uuid(approval_id))), approval_id)

    async def aget(self, approval_id: UUID | str) -> Approval:
        """Read one approval; see get."""
        return _found(await self._link.aperform(store.find_approval(as_uuid(approval_id))), approval_id)

    def list(
        self,
        status: Scope = "open",
        *,
        approver: str | None = None,
        before: UUID | str | None = None,
        limit: int = 50,
    ) -> Listed:
        """List approvals, newest first: open, decided or all; the next page begins before the last id of this one."""
        return self._link.perform(_listed(status, approver, before, limit))

    async def alist(
        self,
        status: Scope = "open",
        *,
        approver: str | None = None,
        before: UUID | str | None = None,
        limit: int = 50,
    ) -> Listed:
        """List approvals; see list."""
        return await self._link.aperform(_listed(status, approver, before, limit))

    def of_job(self, job_id: UUID | str) -> Listed:
        """List what a job has asked, newest first."""
        return self._link.perform(store.approvals_of(as_uuid(job_id)))

    async def aof_job(self, job_id: UUID | str) -> Listed:
        """List what a job has asked; see of_job."""
        return await self._link.aperform(store.approvals_of(as_uuid(job_id)))


UNKNOWN = Answer("unknown", None, None, None, None, None, None, None, None)


def _by_token(
    approval_id: UUID | str,
    token: str,
    verdict: Verdict,
    reason: str | None,
    origin: str | None,
    seen: str | None,
) -> Call[Answer] | None:
    """Prepare the call; what is no id at all is answered as an unknown one."""
    try:
        found = approval_id if isinstance(approval_id, UUID) else UUID(approval_id)
    except ValueError:
        return None
    return store.decide_by_token(found, token, verdict, reason, origin, seen)


def _listed(status: Scope, approver: str | None, before: UUID | str | None, limit: int) -> Call[Listed]:
    if status not in get_args(Scope):
        raise BadInput(f"approvals are listed by status open, decided or all, not {status!r}")
    before_id = None if before is None else as_uuid(before)
    return store.list_approvals(status, approver=approver, before_id=before_id, limit=limit)


def _found(approval: Approval | None, approval_id: UUID | str) -> Approval:
    if approval is None:
        raise ApprovalNotFound(f"no approval has the id {approval_id}")
    return approval
