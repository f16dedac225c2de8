"""All sections of the dashboard."""

from holdfast.interfaces.http.dashboard.batch import batch
from holdfast.interfaces.http.dashboard.jobs import jobs
from holdfast.interfaces.http.dashboard.queues import queues

SECTIONS = (jobs, batch, queues)
