"""What the agent asks of the supervisor and what it is told: plain values that travel as JSON."""

from dataclasses import dataclass
from typing import Any, NamedTuple

MARKER = "JANGAR_CONTAINER_ID"
"""The variable by which a process is known to belong to a container, whoever its parent is."""


class RunKey(NamedTuple):
    """One start of one container. It happens once, whoever asks and however often."""

    pod: str
    container: str
    restart: int

    @property
    def id(self) -> str:
        return f"{self.pod}/{self.container}/{self.restart}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A directory or file that a container sees at a path."""

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StartContainer:
    """Everything that is needed to start a container once."""

    key: RunKey
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    log: str
    mounts: tuple[Mount, ...] = ()
    """Empty where paths were mapped instead; then no namespace is made."""
    hidden: tuple[str, ...] = ()
    """Directories that are empty in the container's view, but for what is mounted in them."""
    user: int | None = None
    group: int | None = None
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a container cannot be started now: a word and a sentence. It may be asked for again."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What is known of one start of a container."""

    key: RunKey
    state: str = "intended"
    """`intended`, `running`, `ended`, or `lost`: it ran, and nobody can tell how it ended."""
    pid: int = 0
    started_at: float = 0.0
    finished_at: float = 0.0
    code: int = 0
    reason: str = ""
    message: str = ""

    @property
    def is_over(self) -> bool:
        return self.state in ("ended", "lost")


def order_to_json(order: StartContainer) -> dict[str, Any]:
    mounts = [
        {"source": each.source, "target": each.target, "read_only": each.read_only} for each in order.mounts
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
        # A supervisor of an earlier version does not know it.
        **({"hidden": list(order.hidden)} if order.hidden else {}),
    }


def order_from_json(data: dict[str, Any]) -> StartContainer:
    known = {name: value for name, value in data.items() if name in StartContainer.__dataclass_fields__}
    return StartContainer(
        **known
        | {
            "key": RunKey(*data["key"]),
            "argv": tuple(data["argv"]),
            "mounts": tuple(Mount(**each) for each in data["mounts"]),
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
