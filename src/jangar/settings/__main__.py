"""`python -m jangar.settings`: write the settings reference, or with --check report whether it is out of date."""

import sys
from collections.abc import Sequence

from jangar.settings.control_plane import ControlPlaneSettings
from jangar.settings.controllers import ControllerSettings
from jangar.settings.laptop import LaptopSettings
from jangar.settings.page_file import write_or_check_page
from jangar.settings.reference import PAGE, page
from jangar.settings.variable import variables_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    variables = {
        **variables_of(ControllerSettings),
        **variables_of(ControlPlaneSettings),
        **variables_of(LaptopSettings),
    }
    text = page(list({variable.name: variable for variable in variables.values()}.values()))
    return write_or_check_page(
        PAGE, text, program="python -m jangar.settings", source="the table of settings", arguments=arguments
    )


if __name__ == "__main__":
    sys.exit(main())
