from interfaces.calling import Cli


def test_weights_are_set_and_listed(cli: Cli) -> None:
    said = cli("tenant", "weight", "acme", "5").stdout
    cli("tenant", "weight", "beta", "2")

    assert said == "tenant acme has the weight 5\n"
    assert cli.json("tenant", "list") == [{"name": "acme", "weight": 5}, {"name": "beta", "weight": 2}]
    assert "acme" in cli("tenant", "list").stdout


def test_the_weight_1_is_not_listed_because_everybody_has_it(cli: Cli) -> None:
    cli("tenant", "weight", "acme", "5")
    cli("tenant", "weight", "acme", "1")

    assert cli.json("tenant", "list") == []
    assert "holdfast tenant weight NAME N" in cli("tenant", "list").stderr


def test_a_weight_beyond_1000_is_a_usage_error(cli: Cli) -> None:
    cli("tenant", "weight", "acme", "1001", code=2)
    cli("tenant", "weight", "acme", "0", code=2)
