"""Writes a generated page of the reference, or with --check reports whether it is out of date."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath


def write_or_check_page(
    page: PurePosixPath, text: str, *, program: str, source: str, arguments: Sequence[str] | None
) -> int:
    """Run the command that writes or checks one page; returns its exit code."""
    options = _parser(program, f"Write {page} from {source}.").parse_args(arguments)
    file: Path = options.root / page
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return 0
    if options.check:
        sys.stderr.write(f"{page}: out of date; run 'make generate'\n")
        return 1
    if not file.parent.is_dir():
        sys.stderr.write(f"{file.parent} is not a directory; pass the repository with --root\n")
        return 2
    file.write_text(text, encoding="utf-8", newline="\n")
    sys.stdout.write(f"{page}: updated\n")
    return 0


def _parser(program: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if the page is out of date"
    )
    parser.add_argument(
        "--root", type=Path, default=Path(), help="the repository (default: the current directory)"
    )
    return parser
