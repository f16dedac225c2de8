"""The command line: `holdfast`. Commands are imported when they run, so that --help is instant."""

import click

from holdfast.interfaces.cli.commands import Group

_COMMANDS = {
    "alert": ("alerts:alert", "List and show alerts, mute rules, test channels."),
    "approval": ("approvals:approval", "List, show, approve and deny what jobs ask of people."),
    "audit": ("audit:audit", "Does everything hold that is promised of jobs?"),
    "config": ("config:config", "Show every setting and where it came from."),
    "db": ("db:db", "Migrate and check the database's schema."),
    "demo": ("demo:demo", "Run a sample app with traffic, on a PostgreSQL of its own."),
    "dev": ("dev:dev", "Run your app here: PostgreSQL, schema, worker and service in one command."),
    "doctor": ("doctor:doctor", "Is the queue stuck, and why?"),
    "enqueue": ("enqueue:enqueue", "Enqueue one job."),
    "events": ("events:events", "Read the events of a channel, or follow it."),
    "executor": ("executors:executor", "List outside executors, print the secret one signs with."),
    "flag": ("flags:flag", "List and set flags: kill switches and rollouts."),
    "job": ("jobs:job", "List, show, wait for, retry and cancel jobs."),
    "key": ("keys:key", "Create, list, rotate and revoke keys of the HTTP API."),
    "openapi": ("openapi:openapi", "Print the HTTP API's description, OpenAPI 3.1."),
    "queue": ("queues:queue", "List, pause, resume and limit queues."),
    "quota": ("figures:quota", "List and set what tenants may use."),
    "schedule": ("schedules:schedule", "List, show, run, pause and resume schedules."),
    "server": ("server:server", "Serve the HTTP API, callbacks and the other parts."),
    "stats": ("figures:stats", "Success rate, durations and retries by task."),
    "task": ("tasks:task", "List, pause and resume tasks."),
    "tenant": ("tenants:tenant", "List and set the weights of tenants."),
    "up": ("server:up", "Run a worker and the HTTP service in one process."),
    "usage": ("figures:usage", "What tenants used, by day and task."),
    "user": ("people:user", "Add and list people, give them roles and passwords."),
    "version": ("version:version", "Show the version."),
    "webhook": ("webhooks:webhook", "List, show and replay what other systems brought."),
    "worker": ("workers:worker", "Run a worker, or list workers."),
}


@click.group(cls=Group, lazy=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Durable jobs on PostgreSQL.

    Data goes to stdout, talk to stderr. Options of this page may also stand behind a command.
    """
