"""The entries of the navigation, in their order."""

from typing import NamedTuple


class Entry(NamedTuple):
    """One entry."""

    section: str
    title: str
    path: str
    icon: str
    key: str  # behind g


ENTRIES = (
    Entry("overview", "Overview", "/", "overview", "o"),
    Entry("jobs", "Jobs", "/jobs", "jobs", "j"),
    Entry("approvals", "Approvals", "/approvals", "approvals", "a"),
    Entry("queues", "Queues", "/queues", "queues", "q"),
    Entry("schedules", "Schedules", "/schedules", "schedules", "s"),
    Entry("usage", "Usage", "/usage", "usage", "u"),
    Entry("activity", "Activity", "/activity", "activity", "e"),
    Entry("settings", "Settings", "/settings", "settings", ","),
)
