"""What the tests of Holdfast and of the products share; pytest takes the names of plugins from a file that lies here."""

pytest_plugins = ["world.databases", "world.ending"]
