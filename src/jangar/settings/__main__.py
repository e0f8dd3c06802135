"""`python -m jangar.settings`: write the page of settings, or with --check only tell whether it is out of date."""

import sys
from collections.abc import Sequence

from jangar.settings.control_plane import ControlPlaneSettings
from jangar.settings.controllers import ControllerSettings
from jangar.settings.laptop import LaptopSettings
from jangar.settings.page_file import keep_page
from jangar.settings.reference import PAGE, page
from jangar.settings.variable import variables_of


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    told = {
        **variables_of(ControllerSettings),
        **variables_of(ControlPlaneSettings),
        **variables_of(LaptopSettings),
    }
    text = page(list({each.name: each for each in told.values()}.values()))
    return keep_page(
        PAGE, text, program="python -m jangar.settings", source="the table of settings", arguments=arguments
    )


if __name__ == "__main__":
    sys.exit(main())
