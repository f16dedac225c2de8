"""All sections of the dashboard."""

from holdfast.interfaces.http.dashboard.job import job
from holdfast.interfaces.http.dashboard.queues import queues

SECTIONS = (job, queues)
