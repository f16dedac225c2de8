from pathlib import Path

import pytest

from holdfast.domain.errors import Configuration
from holdfast.interfaces.cli.workers import read_queues
from holdfast.interfaces.settings import Setting, Settings


def test_a_flag_wins_over_environment_file_and_default(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text("concurrency = 3\n")
    environment = {"HOLDFAST_CONCURRENCY": "4"}

    assert Settings({"concurrency": "5"}, environment, tmp_path).get("concurrency") == Setting(
        "concurrency", "5", "--concurrency"
    )
    assert Settings({}, environment, tmp_path).get("concurrency").source == "HOLDFAST_CONCURRENCY"
    assert Settings({}, {}, tmp_path).get("concurrency") == Setting("concurrency", "3", "holdfast.toml")
    assert Settings({}, {}, tmp_path / "elsewhere").get("concurrency") == Setting(
        "concurrency", "50", "default"
    )


def test_pyproject_is_read_when_there_is_no_file_of_our_own(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.holdfast]\napp = "shop:app"\nqueues = {billing = 5, default = 20}\n'
    )

    settings = Settings({}, {}, tmp_path)

    assert settings.get("app") == Setting("app", "shop:app", "pyproject.toml [tool.holdfast]")
    assert settings.text("queues") == "billing:5,default:20"


def test_a_table_of_queues_is_read_whatever_their_names_hold(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text('[queues]\n"mail,eu" = 5\n"urn:mail" = 2\n')

    line = Settings({}, {}, tmp_path).text("queues")

    assert read_queues(line, 50) == {"mail,eu": 5, "urn:mail": 2}


def test_a_project_without_our_table_sets_nothing(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other]\nx = 1\n")

    assert Settings({}, {}, tmp_path).get("app").source == "default"


def test_an_unknown_key_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text("concurency = 3\n")

    with pytest.raises(
        Configuration,
        match=r"'concurency', which is no setting; known are: allowed_hosts, app, base_url, concurrency",
    ):
        Settings({}, {}, tmp_path)


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text("= 3\n")

    with pytest.raises(Configuration, match=r"holdfast\.toml cannot be read"):
        Settings({}, {}, tmp_path)


@pytest.mark.parametrize(
    ("value", "told"),
    [("many", "is not a number"), ("0", "is less than 1"), ("1.5", "is not a whole number")],
)
def test_a_value_that_does_not_fit_names_its_source(tmp_path: Path, value: str, told: str) -> None:
    settings = Settings({}, {"HOLDFAST_CONCURRENCY": value}, tmp_path)

    with pytest.raises(Configuration, match=f"from HOLDFAST_CONCURRENCY.*{told}"):
        settings.whole("concurrency", 1)


def test_a_word_that_is_no_choice_names_the_choices(tmp_path: Path) -> None:
    with pytest.raises(Configuration, match="is not one of text, json"):
        Settings({"log_format": "xml"}, {}, tmp_path).choice("log_format", "text", "json")
