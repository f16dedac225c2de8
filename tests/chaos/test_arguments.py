"""Nothing that is asked of a run is passed over in silence."""

import pytest

from chaos.__main__ import arguments, contradiction


def test_an_operation_that_there_is_not_is_refused_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        arguments().parse_args(["--operation", "think"])

    assert "save_checkpoint" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--quick --calm", "--calm"),
        ("--quick --rest 1", "--rest"),
        ("--quick --minutes 3", "--minutes"),
        ("--quick --strikes 3", "--strikes"),
        ("--calm --rest 0", "--rest"),
        ("--soak --rest 1", "--rest"),
    ],
)
def test_a_wish_that_another_passes_over_is_refused(words: str, named: str) -> None:
    said = contradiction(arguments().parse_args(words.split()))

    assert said is not None
    assert named in said


@pytest.mark.parametrize(
    "words",
    ["", "--quick --seed 1 --rate 8", "--only failover --strikes 20 --calm", "--minutes 60 --soak --rate 300 --calm", "--rest 0.3"],
)  # fmt: skip
def test_wishes_that_can_all_be_met_are_not(words: str) -> None:
    assert contradiction(arguments().parse_args(words.split())) is None
