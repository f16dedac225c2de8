"""Every Python block of the README and the guide runs, page by page, in order."""

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from holdfast.testing import ScratchDatabase
from world.warm import run_file, run_warm

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+?)(?:#[^)]*)?\)")


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text("utf-8")) if kind == language]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_the_python_of_a_page_runs(page: Path, holdfast_db: ScratchDatabase, tmp_path: Path) -> None:
    module = tmp_path / "page.py"
    module.write_text("\n\n".join(blocks(page, "python")), "utf-8")
    environment = {**os.environ, "DATABASE_URL": holdfast_db.url}

    code, said = run_warm(tmp_path / "output", environment, run_file, str(module), within=100)

    assert code == 0, said


def test_the_python_of_the_first_page_runs_by_python_itself(
    holdfast_db: ScratchDatabase, tmp_path: Path
) -> None:
    module = tmp_path / "page.py"
    module.write_text("\n\n".join(blocks(README, "python")), "utf-8")
    environment = {**os.environ, "DATABASE_URL": holdfast_db.url}

    ran = subprocess.run(
        [sys.executable, str(module)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sql")], ids=name)
def test_the_sql_of_a_page_runs(page: Path, owner: psycopg.Connection) -> None:
    owner.execute("""select holdfast.register_tasks('[{"name": "issue_invoice"}]')""")

    for text in blocks(page, "sql"):
        owner.execute(text)


@pytest.mark.parametrize(
    "page",
    [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("apps/**/README.md"))],
    ids=name,
)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    targets = [link for link in LINK.findall(page.read_text("utf-8")) if "://" not in link]

    missing = [target for target in targets if not (page.parent / target).exists()]

    assert missing == []
