"""`python -m jangar.cli` is `jangar`."""

from jangar.cli.main import run

run()
