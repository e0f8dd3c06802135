"""What `jangar up`, and the commands that talk to it, are told by their environment."""

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
    sentence="The data directory of the laptop's control plane, for jangar up and for every command that talks to it; "
    "--data-dir wins.",
)
WEB_PORT: Variable[int] = Variable(
    name="JANGAR_WEB_PORT",
    form=forms.whole_number(least=0, most=65535),
    default=0,
    shown_default="0",
    helm_value="",
    processes=frozenset({Process.UP}),
    sentence="The port of the laptop's web page; --web-port wins. 0 takes the last one, or one that is free.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaptopSettings:
    """Every setting of the laptop's own; one that is not set has its default."""

    data_dir: str = setting(DATA_DIR)
    web_port: int = setting(WEB_PORT)
