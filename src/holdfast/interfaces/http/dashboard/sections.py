"""All sections of the dashboard."""

from holdfast.interfaces.http.dashboard.activity import activity
from holdfast.interfaces.http.dashboard.approvals import approvals
from holdfast.interfaces.http.dashboard.approvals_together import approvals_together
from holdfast.interfaces.http.dashboard.batch import batch
from holdfast.interfaces.http.dashboard.callers import settings
from holdfast.interfaces.http.dashboard.job import job
from holdfast.interfaces.http.dashboard.job_actions import job_actions
from holdfast.interfaces.http.dashboard.overview import overview
from holdfast.interfaces.http.dashboard.queues import queues
from holdfast.interfaces.http.dashboard.saved_views import jobs
from holdfast.interfaces.http.dashboard.schedule_form import schedules
from holdfast.interfaces.http.dashboard.usage import usage

# The approvals that are given together before the one whose id stands in the same place of a path.
SECTIONS = (
    overview,
    jobs,
    job,
    job_actions,
    batch,
    approvals_together,
    approvals,
    queues,
    schedules,
    usage,
    activity,
    settings,
)
