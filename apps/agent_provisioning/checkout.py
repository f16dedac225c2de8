"""Stripe's checkout: one subscription for one agent."""

from uuid import UUID

from stripe import HTTPXClient, StripeClient
from stripe.checkout import Session

from apps.agent_provisioning.settings import Settings


async def open_session(agent_id: UUID, user_id: str, stripe_customer: str) -> Session:
    """Open the session that the user pays in; the event that says so will carry this metadata."""
    settings = Settings.read()
    http = HTTPXClient()
    stripe = StripeClient(settings.stripe_key, base_addresses={"api": settings.stripe_api}, http_client=http)
    try:
        return await stripe.v1.checkout.sessions.create_async(
            {
                "mode": "subscription",
                "customer": stripe_customer,
                "line_items": [{"price": settings.stripe_price, "quantity": 1}],
                "metadata": {"agentId": str(agent_id), "userId": user_id},
                "success_url": f"{settings.public_url}/agents/{agent_id}",
                "cancel_url": f"{settings.public_url}/wizard/4",
            },
            {"idempotency_key": f"agent-{agent_id}"},
        )
    finally:
        await http.close_async()
