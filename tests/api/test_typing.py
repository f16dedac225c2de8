import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def checked(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(path)]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def test_enqueue_is_checked_by_the_type_checker() -> None:
    said = checked(HERE / "typing_cases.py")

    assert said.returncode == 0, said.stdout + said.stderr


def test_every_wrong_call_is_an_error_of_its_own(tmp_path: Path) -> None:
    cases = (HERE / "typing_cases.py").read_text()
    bare = tmp_path / "bare_cases.py"
    bare.write_text(cases.replace("  # type: ignore[", "  # expected ["))
    wrong = [number for number, line in enumerate(cases.splitlines(), 1) if "# type: ignore[" in line]

    said = checked(bare)

    reported = {int(line.split(":")[1]) for line in said.stdout.splitlines() if ": error: " in line}
    assert sorted(reported) == wrong
