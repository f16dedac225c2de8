"""All sections of the dashboard."""

from holdfast.interfaces.http.dashboard.queues import queues

SECTIONS = (queues,)
