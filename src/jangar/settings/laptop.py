"""The settings of `jangar up` and of the commands that talk to it."""

from dataclasses import dataclass
from typing import Final

from jangar.settings import forms
from jangar.settings.shared import LOG_FORMAT
from jangar.settings.variables import UP, Variable, setting, shared

DATA_DIR: Final = Variable(
    "JANGAR_DATA_DIR",
    forms.text(),
    "",
    "Data directory of the local control plane, for jangar up and every command that talks to it; "
    "--data-dir overrides it.",
    processes=UP,
    effective_default="$XDG_DATA_HOME/jangar",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaptopSettings:
    """Every setting of the local control plane; unset ones have their defaults."""

    data_dir: str = shared(DATA_DIR)
    web_port: int = setting(
        "JANGAR_WEB_PORT",
        forms.integer(minimum=0, maximum=65535),
        0,
        "Port of the local web page; --web-port overrides it. 0 uses the previous port, or a free one.",
        processes=UP,
    )
    log_format: str = shared(LOG_FORMAT)
