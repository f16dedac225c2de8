"""All sections of the dashboard."""

from holdfast.interfaces.http.dashboard.overview import overview
from holdfast.interfaces.http.dashboard.queues import queues

SECTIONS = (overview, queues)
