"""A Django project from its first `migrate` on, with its own manage.py in processes of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from api.doors import django_parts
from holdfast.store import databases
from holdfast.testing import TestServer

MANAGE = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "bakery.settings"
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""
SETTINGS = """
import json, os
told = json.loads(os.environ["BAKERY"])
INSTALLED_APPS = ["django_tasks", "holdfast.contrib.django", "bakery"]
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", **told["database"]}}
TASKS = {"default": {"BACKEND": "holdfast.contrib.django.HoldfastBackend"}}
HOLDFAST = told["holdfast"]
USE_TZ = True
SECRET_KEY = "only in tests"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
"""
MODELS = """
from django.db import models

class Loaf(models.Model):
    weight = models.IntegerField()
"""
TASKS = """
from django_tasks import task
from bakery.models import Loaf

@task
def bake(weight):
    return Loaf.objects.create(weight=weight).id
"""
JOBS = """
from holdfast import Holdfast
from bakery.models import Loaf

app = Holdfast()

@app.task(executor="process", retries=0)
def slice(loaf_id: int) -> int:
    return Loaf.objects.get(id=loaf_id).weight
"""
TESTS = """
from django.test import TransactionTestCase, TestCase
from django.core.management import call_command
from bakery.jobs import slice
from bakery.models import Loaf
from bakery.tasks import bake

class Together(TestCase):
    def test_a_job_is_seen_by_its_own_transaction(self):
        self.assertEqual(bake.get_result(bake.enqueue(700).id).status, "READY")

class Worked(TransactionTestCase):
    def test_a_worker_bakes(self):
        sliced = slice.enqueue(Loaf.objects.create(weight=700).id)
        result = bake.enqueue(800)
        call_command("holdfast", "worker", "--until-idle", "--log-level", "error")
        result.refresh()
        self.assertEqual(Loaf.objects.get(id=result.return_value).weight, 800)
        self.assertEqual(sliced.result(), 700)
"""


class Bakery:
    """A project in a folder, and its manage.py."""

    def __init__(self, folder: Path, url: str) -> None:
        self.url = url
        self._folder = folder
        self._database = django_parts(url)
        package = folder / "bakery"
        package.mkdir()
        for name, text in {
            "__init__": "",
            "settings": SETTINGS,
            "models": MODELS,
            "tasks": TASKS,
            "jobs": JOBS,
            "tests": TESTS,
        }.items():
            (package / f"{name}.py").write_text(text, "utf-8")
        (folder / "manage.py").write_text(MANAGE, "utf-8")

    def manage(self, *arguments: str, holdfast: Any = None) -> subprocess.CompletedProcess[str]:
        told = {"database": self._database, "holdfast": holdfast or {}}
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=self._folder,
            env={**os.environ, "BAKERY": json.dumps(told)},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )


@pytest.fixture
def bakery(holdfast_server: TestServer, tmp_path: Path) -> Iterator[Bakery]:
    name = f"{databases.TEST_PREFIX}bakery_{os.getpid()}"
    url = databases.create_database(holdfast_server.admin_url, name)
    try:
        yield Bakery(tmp_path, url)
    finally:
        databases.drop_database(holdfast_server.admin_url, name)


OWN = {"APP": "bakery.jobs:app"}


def test_migrate_brings_our_schema_too_and_the_command_finds_the_project(bakery: Bakery) -> None:
    migrated = bakery.manage("migrate", "--run-syncdb")
    worked = bakery.manage("holdfast", "worker", "--until-idle")

    assert "Applied to the schema holdfast: 0001_jobs" in migrated.stdout, migrated.stderr
    assert worked.returncode == 0, worked.stderr
    with psycopg.connect(bakery.url) as connection:
        tasks = connection.execute("select name from holdfast.task where name like 'bakery%'").fetchall()
    assert tasks == [("bakery.tasks.bake",)]


def test_tests_of_the_project_run_on_a_database_of_their_own_with_workers_and_their_processes(
    bakery: Bakery,
) -> None:
    ran = bakery.manage("test", "--noinput", "bakery", holdfast=OWN)

    assert ran.returncode == 0, ran.stderr
    assert "Ran 2 tests" in ran.stderr


def test_an_app_that_is_not_there_is_told_before_anything_runs(bakery: Bakery) -> None:
    asked = bakery.manage("holdfast", "worker", holdfast={"APP": "bakery.ovens:app"})

    assert asked.returncode == 1
    assert "(holdfast.E004) HOLDFAST['APP']: there is no module 'bakery.ovens'" in asked.stderr
    assert "Traceback" not in asked.stderr
