"""The settings of `jangar up` and of the commands that talk to it."""

from dataclasses import dataclass

from jangar.settings import forms
from jangar.settings.variable import Process, Variable, setting

DATA_DIR: Variable[str] = Variable(
    name="JANGAR_DATA_DIR",
    form=forms.text(),
    default="",
    shown_default="$XDG_DATA_HOME/jangar",
    helm_value="",
    processes=frozenset({Process.UP}),
    description="Data directory of the local control plane, for jangar up and every command that talks to it; "
    "--data-dir overrides it.",
)
WEB_PORT: Variable[int] = Variable(
    name="JANGAR_WEB_PORT",
    form=forms.integer(minimum=0, maximum=65535),
    default=0,
    shown_default="0",
    helm_value="",
    processes=frozenset({Process.UP}),
    description="Port of the local web page; --web-port overrides it. 0 uses the previous port, or a free one.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaptopSettings:
    """Every setting of the local control plane; unset ones have their defaults."""

    data_dir: str = setting(DATA_DIR)
    web_port: int = setting(WEB_PORT)
