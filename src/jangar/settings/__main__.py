"""`python -m jangar.settings`: write the page of settings, or with --check only tell whether it is out of date."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from jangar.settings.controllers import ControllerSettings
from jangar.settings.reference import PAGE, page
from jangar.settings.variable import variables_of


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    asked = _parser().parse_args(arguments)
    file: Path = asked.root / PAGE
    text = page(list(variables_of(ControllerSettings).values()))
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return 0
    if asked.check:
        sys.stderr.write(f"{PAGE}: out of date; run 'make generate'\n")
        return 1
    if not file.parent.is_dir():
        sys.stderr.write(f"{file.parent} is not a directory; name the repository with --root\n")
        return 2
    file.write_text(text, encoding="utf-8", newline="\n")
    sys.stdout.write(f"{PAGE}: mended\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m jangar.settings", description="Write the reference of settings from the table."
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if the page is out of date"
    )
    parser.add_argument("--root", type=Path, default=Path(), help="the repository (default: here)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
