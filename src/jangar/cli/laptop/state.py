"""State of the local control plane: addresses, component health and runs by phase."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.phases import Phase
from jangar.controllers.resources import resource_of
from jangar.processes.data_directory import STATE_PATH, page_address

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.processes.data_directory import DataDirectory, Instance

TIMEOUT = 10.0
OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LaptopState:
    """State that the process reports."""

    parts: dict[str, list[str]]
    runs: dict[str, int]
    pods: int

    @property
    def is_healthy(self) -> bool:
        return not any(self.parts.values())


async def read_state(session: "Session") -> LaptopState:
    """Read the component health, the runs by phase and the number of live pods."""
    from jangar.processes.laptop_work import live_pods  # noqa: PLC0415 - heavy

    response = await session.transport.request("GET", STATE_PATH, timeout=TIMEOUT)
    parts = (
        orjson.loads(response.body)["parts"]
        if response.status == OK
        else {"api": ["the state endpoint failed"]}
    )
    runs = Counter(
        (run.get("status") or {}).get("phase") or Phase.PENDING
        for run in await session.client.list(resource_of(ORCHESTRATION_RUN))
    )
    return LaptopState(parts=parts, runs=_in_order(runs), pods=len(await live_pods(session.client)))


def _in_order(runs: Counter[str]) -> dict[str, int]:
    return {str(phase): runs[phase] for phase in Phase if runs[phase]}


def document(
    place: "DataDirectory", instance: "Instance | None", state: LaptopState | None
) -> dict[str, Any]:
    """The state as JSON for scripts."""
    fields: dict[str, Any] = {"up": bool(instance and instance.is_ready), "dataDir": str(place.directory)}
    if instance is not None:
        fields |= {
            "pid": instance.pid,
            "startedAt": instance.started_at or None,
            "version": instance.version or None,
            "server": instance.server or None,
            "url": instance.url or None,
            "kubeconfig": str(place.kubeconfig),
            "log": str(place.log),
        }
    if state is not None:
        fields |= {"parts": state.parts, "runs": state.runs, "pods": state.pods}
    return fields


def lines(place: "DataDirectory", instance: "Instance", state: LaptopState) -> list[str]:
    """The state as lines for people."""
    runs = ", ".join(f"{count:,} {phase}" for phase, count in state.runs.items()) or "none"
    reported = [
        f"jangar {instance.version} is up since {instance.started_at} (process {instance.pid})",
        f"API:         {instance.server}",
        f"web UI:      {page_address(place, instance)}",
        f"kubeconfig:  {place.kubeconfig}",
        f"data:        {place.directory}",
        f"log:         {place.log}",
        f"runs:        {runs}",
        f"live pods:   {state.pods}",
    ]
    reported += [
        f"{name + ':':<12} {'; '.join(problems) or 'healthy'}" for name, problems in state.parts.items()
    ]
    return reported
