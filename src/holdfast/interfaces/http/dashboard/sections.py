"""All sections of the dashboard."""

from holdfast.interfaces.http.dashboard.activity import activity
from holdfast.interfaces.http.dashboard.approvals import approvals
from holdfast.interfaces.http.dashboard.batch import batch
from holdfast.interfaces.http.dashboard.callers import settings
from holdfast.interfaces.http.dashboard.job import job
from holdfast.interfaces.http.dashboard.overview import overview
from holdfast.interfaces.http.dashboard.queues import queues
from holdfast.interfaces.http.dashboard.saved_views import jobs
from holdfast.interfaces.http.dashboard.schedule_form import schedules
from holdfast.interfaces.http.dashboard.usage import usage

SECTIONS = (overview, jobs, job, batch, approvals, queues, schedules, usage, activity, settings)
