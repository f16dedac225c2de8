"""`python -m holdfast.interfaces.cli` is `holdfast`."""

from holdfast.interfaces.cli import main

main(prog_name="holdfast")
