"""`python -m jangar.crdgen`: write the generated files, or with --check report which are out of date."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from jangar.crdgen.generated import CRD_DIRECTORY, bring_up_to_date, differences, generated_files


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    root: Path = options.root
    chart = root / CRD_DIRECTORY.parent
    if not chart.is_dir():
        sys.stderr.write(f"{chart} is not a directory; pass the repository with --root\n")
        return 2
    files = generated_files()
    if options.check:
        outdated = differences(root, files)
        for difference in outdated:
            sys.stderr.write(f"{difference}; run 'make generate'\n")
        return 1 if outdated else 0
    for difference in bring_up_to_date(root, files):
        sys.stdout.write(f"{difference}: updated\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m jangar.crdgen", description="Write the CRDs and the API reference from the types."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is out of date")
    parser.add_argument(
        "--root", type=Path, default=Path(), help="the repository (default: the current directory)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
