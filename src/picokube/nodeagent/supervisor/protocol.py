"""The messages between the agent and the supervisor, and their JSON encoding."""

from dataclasses import dataclass
from typing import Any, NamedTuple

MARKER = "JANGAR_CONTAINER_ID"
"""Environment variable with the container id of a process."""


class RunKey(NamedTuple):
    """Identifies one start of a container. Starts are idempotent: each key starts at most once."""

    pod: str
    container: str
    restart: int

    @property
    def id(self) -> str:
        return f"{self.pod}/{self.container}/{self.restart}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A bind mount of a host directory or file."""

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StartContainer:
    """A request to start a container."""

    key: RunKey
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    log: str
    mounts: tuple[Mount, ...] = ()
    """If empty, the container runs without namespaces."""
    hidden: tuple[str, ...] = ()
    """Directories that contain only what is mounted in them."""
    user: int | None = None
    group: int | None = None
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a container can't be started now. The request may be repeated."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The state of one start of a container."""

    key: RunKey
    state: str = "intended"
    """`intended`, `running`, `ended`, or `lost` if the end was not observed."""
    pid: int = 0
    started_at: float = 0.0
    finished_at: float = 0.0
    code: int = 0
    reason: str = ""
    message: str = ""

    @property
    def is_over(self) -> bool:
        return self.state in ("ended", "lost")


def start_request_to_json(order: StartContainer) -> dict[str, Any]:
    mounts = [
        {"source": mount.source, "target": mount.target, "read_only": mount.read_only}
        for mount in order.mounts
    ]
    return {
        "key": list(order.key),
        "argv": list(order.argv),
        "env": order.env,
        "cwd": order.cwd,
        "log": order.log,
        "mounts": mounts,
        "user": order.user,
        "group": order.group,
        "groups": list(order.groups),
        # Earlier versions of the supervisor don't know it.
        **({"hidden": list(order.hidden)} if order.hidden else {}),
    }


def start_request_from_json(data: dict[str, Any]) -> StartContainer:
    known = {name: value for name, value in data.items() if name in StartContainer.__dataclass_fields__}
    return StartContainer(
        **known
        | {
            "key": RunKey(*data["key"]),
            "argv": tuple(data["argv"]),
            "mounts": tuple(Mount(**mount) for mount in data["mounts"]),
            "groups": tuple(data["groups"]),
            "hidden": tuple(data.get("hidden") or ()),
        }
    )


def run_to_json(run: Run) -> dict[str, Any]:
    return {
        "key": list(run.key),
        "state": run.state,
        "pid": run.pid,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "code": run.code,
        "reason": run.reason,
        "message": run.message,
    }


def run_from_json(data: dict[str, Any]) -> Run:
    return Run(**data | {"key": RunKey(*data["key"])})
