"""The table of operations. Tests require that the command line and the HTTP API offer each of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from jangar.operations.agent_runs import mark_agent_run, submit_agent_run
from jangar.operations.audit import list_audit
from jangar.operations.cluster_status import ClusterStatus, list_controllers
from jangar.operations.live_runs import LiveRuns
from jangar.operations.objects import (
    apply_object,
    create_object,
    delete_object,
    get_objects,
    list_events,
    release_finalizers,
)
from jangar.operations.past_runs import get_stored_run
from jangar.operations.retention import get_retention, retention_rows
from jangar.operations.run_control import (
    cancel_run,
    delete_run,
    resume_run,
    shorten_grace_period,
    suspend_run,
)
from jangar.operations.run_list import list_run_page, list_runs
from jangar.operations.run_reading import explain_run_steps, get_run
from jangar.operations.step_logs import StepLogs
from jangar.operations.submit import resubmit_run, retry_run, submit_manifest, submit_run
from jangar.operations.watching import changes


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that a person or a program can do, and the functions that do it."""

    name: str
    functions: tuple[Callable[..., Any], ...]
    """Several if the command line and a control plane with caches need different results."""


OPERATIONS: Final = (
    Operation("submit", (submit_run, submit_manifest)),
    Operation("list", (list_runs, list_run_page)),
    Operation("get", (get_run,)),
    Operation("watch", (changes, LiveRuns)),
    Operation("explain", (explain_run_steps,)),
    Operation("logs", (StepLogs,)),
    Operation("events", (list_events,)),
    Operation("cancel", (cancel_run,)),
    Operation("shorten-grace-period", (shorten_grace_period,)),
    Operation("suspend", (suspend_run,)),
    Operation("resume", (resume_run,)),
    Operation("retry", (retry_run,)),
    Operation("resubmit", (resubmit_run,)),
    Operation("delete", (delete_run, delete_object)),
    Operation("apply", (apply_object, create_object)),
    Operation("get-objects", (get_objects,)),
    Operation("release-finalizers", (release_finalizers,)),
    Operation("history", (get_stored_run,)),
    Operation("retention", (get_retention, retention_rows)),
    Operation("controllers", (list_controllers, ClusterStatus)),
    Operation("audit", (list_audit,)),
    Operation("submit-agent-run", (submit_agent_run,)),
    Operation("mark-agent-run", (mark_agent_run,)),
)
