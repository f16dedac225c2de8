"""All sections of the dashboard."""

from holdfast.interfaces.http.dashboard.approvals import approvals
from holdfast.interfaces.http.dashboard.callers import settings
from holdfast.interfaces.http.dashboard.queues import queues
from holdfast.interfaces.http.dashboard.schedules import schedules

SECTIONS = (approvals, queues, schedules, settings)
