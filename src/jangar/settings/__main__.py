"""`python -m jangar.settings`: write the settings reference, or with --check report whether it is out of date."""

import sys
from collections.abc import Sequence

from jangar.settings.page_file import write_or_check_page
from jangar.settings.reference import PAGE, all_variables, page


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return write_or_check_page(
        PAGE,
        page(all_variables()),
        program="python -m jangar.settings",
        source="the settings",
        arguments=arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
