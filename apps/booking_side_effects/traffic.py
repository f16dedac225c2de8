"""Customers who pay for bookings; now and then the answer to a posted invoice is lost, and a minute later it is looked up."""

from typing import ClassVar

from apps._traffic import Visits
from apps.booking_side_effects.story import World, book, payment

MACHINES = ("Excavator", "Crane", "Forklift", "Roller", "Drill rig")


class Traffic(Visits[World]):
    """A customer books a machine and pays."""

    pause: ClassVar[tuple[float, float]] = (8.0, 14.0)

    async def visit(self) -> None:
        """Book, and pay."""
        self.world.stripe.endpoint = f"{self.stage.url}/webhooks/v1/stripe"
        self.world.invoicing.at_post.tell("lost" if self.happens(6) else None)
        booking = book(
            machine=self.dice.choice(MACHINES),
            customer_email=f"{self.somebody()}@example.com",
            net_cents=self.dice.randrange(5_000, 90_000),
            flags=["delivery"] if self.happens(2) else [],
        )
        await self.world.stripe.deliver(payment(self.world.stripe, booking))
