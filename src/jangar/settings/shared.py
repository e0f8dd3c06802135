"""Environment variables that several processes read."""

from collections.abc import Mapping
from typing import Final

from jangar.settings import forms
from jangar.settings.forms import Scope
from jangar.settings.variables import BOTH, UP, BadSettings, Variable

ORCHESTRATION_NAMESPACES: Final = Variable(
    "JANGAR_ORCHESTRATION_CONTROLLER_NAMESPACES",
    forms.namespaces(),
    Scope(()),
    "Namespaces that the orchestration controller watches and the control plane shows. Unset uses the namespace "
    "of the process.",
    helm_value="orchestrationController.namespaces",
    processes=BOTH,
)
DATABASE_URL: Final = Variable(
    "DATABASE_URL",
    forms.text(),
    "",
    "History database, as postgresql://USER:PASSWORD@HOST:PORT/NAME. Unset disables history. "
    "jangar up ignores it and uses a SQLite file.",
    helm_value="database.url",
    processes=BOTH,
    is_secret=True,
)
LOG_FORMAT: Final = Variable(
    "JANGAR_LOG_FORMAT",
    forms.one_of("text", "json"),
    "text",
    "Format of the log on stderr: text, one line with key=value fields per event, or json, one object per line.",
    helm_value="env.vars.JANGAR_LOG_FORMAT",
    processes=BOTH | UP,
)


def log_format(environment: Mapping[str, str]) -> str:
    """The format of the log, `text` or `json`. Raises BadSettings."""
    try:
        return LOG_FORMAT.read(environment)
    except ValueError as error:
        raise BadSettings([str(error)]) from None
