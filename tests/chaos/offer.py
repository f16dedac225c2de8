"""What customers ask for: so many requests in a second, each for so many jobs. Who asks and who judges both take it from here."""

import math
from typing import NamedTuple

REQUESTS = 100.0  # a second at most: who wants more jobs than that asks for several at once


class Offer(NamedTuple):
    """What customers ask for together, if nothing keeps them from it; parts of a flow are one job."""

    requests: float  # in a second
    at_once: int  # jobs in each

    @property
    def jobs(self) -> float:
        """How many in a second."""
        return self.requests * self.at_once


def offer_of(rate: float) -> Offer:
    """Divide a rate of jobs among requests, so that both come to the rate."""
    at_once = max(math.ceil(rate / REQUESTS), 1)
    return Offer(rate / at_once, at_once)
