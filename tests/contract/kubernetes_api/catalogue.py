"""All cases: the public functions of `cases/`. Their names are rules."""

import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from contract.kubernetes_api.session import Session
from contract.kubernetes_api.transcript import as_text, comparable
from support.api_servers import ApiServer

HERE = Path(__file__).parent
TRANSCRIPTS = HERE / "transcripts"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One rule of the Kubernetes API and the requests that show it."""

    name: str
    run: Callable[[Session], None]

    @property
    def transcript(self) -> Path:
        return TRANSCRIPTS / f"{self.name}.json"

    def recorded(self) -> list[dict[str, Any]]:
        """The recorded response of a real server."""
        return json.loads(self.transcript.read_text())["steps"]


@dataclass(frozen=True, kw_only=True)
class Run:
    """The steps that a server answered. If the case could not continue, `stopped_by` is the reason."""

    steps: list[dict[str, Any]]
    stopped_by: Exception | None

    def text(self, case: Case) -> str:
        return as_text(case.name, self.steps)


@cache
def cases() -> dict[str, Case]:
    """By name: `area/rule`."""
    by_name: dict[str, Case] = {}
    for module in pkgutil.iter_modules([str(HERE / "cases")]):
        area = importlib.import_module(f"contract.kubernetes_api.cases.{module.name}")
        for name, function in inspect.getmembers(area, inspect.isfunction):
            if function.__module__ == area.__name__ and not name.startswith("_"):
                by_name[f"{module.name}/{name}"] = Case(name=f"{module.name}/{name}", run=function)
    return by_name


def run(case: Case, server: ApiServer) -> Run:
    """Run the case on this server in its own namespace."""
    session = Session(server)
    stopped_by = None
    try:
        session.begin()
        case.run(session)
    except Exception as error:  # noqa: BLE001 - a case may stop at any unexpected response; the steps have the details
        stopped_by = error
    finally:
        session.close()
    # Through JSON, so that a run and a stored transcript have the same types.
    return Run(steps=json.loads(json.dumps(comparable(session.steps, session.ns))), stopped_by=stopped_by)
