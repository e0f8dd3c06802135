"""The registration of the admission controller."""

from collections.abc import Iterable
from typing import Final

from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.tools import TOOL_RUN
from jangar.controllers.admission.admission import AGENT_RUNS, REFERENCED, TOOL_RUNS, TOOLS
from jangar.controllers.admission.agent_run_index import indexed_run
from jangar.controllers.admission.reconciler import KEY
from jangar.controllers.engine_settings import EngineSettings
from jangar.controllers.informers import ADMISSION
from jangar.controllers.registration import (
    ControllerContext,
    Reconciliation,
    Registration,
    Watch,
    updates_status,
)
from jangar.controllers.watch_predicates import generation_changed
from kubekit.cache.object_cache import Cache, Change
from kubekit.controller.reconcile import Key
from kubekit.controller.reconcile import Mapping as KeyMapping

COALESCE_SECONDS: Final = 0.02
"""Changes within this time cause one decision."""


def _single_key(own: Cache) -> KeyMapping:
    del own
    return _keys


def _keys(change: Change) -> Iterable[Key]:
    del change
    return (KEY,)


def _admission_changed(change: Change) -> bool:
    """Whether a slot became free or a run wants one; recorded positions and progress do not matter."""
    old = indexed_run(change.old) if change.old is not None else None
    new = indexed_run(change.new) if change.new is not None else None
    if old is None or new is None:
        run = new or old
        return run is not None and (run.holds_slot or run.is_waiting)
    return old.state != new.state


def _counts_tool_runs(settings: EngineSettings) -> bool:
    return settings.admission is not None and settings.admission.policy.counts_tool_runs


def _reconciler(context: ControllerContext) -> Reconciliation:
    if context.admission is None:
        raise ValueError("the admission controller needs admission settings")
    return Reconciliation(
        reconcile=context.admission.reconcile, forget=context.admission.reconcile.invalidate_caches
    )


ADMISSION_CONTROLLER: Final = Registration(
    name="admission",
    own=AGENT_RUNS,
    watches=(
        Watch(source=AGENT_RUNS, keys=_single_key, where=_admission_changed, delay=COALESCE_SECONDS),
        Watch(
            source=TOOL_RUNS,
            keys=_single_key,
            where=_admission_changed,
            delay=COALESCE_SECONDS,
            is_enabled=_counts_tool_runs,
        ),
        *(
            Watch(source=source, keys=_single_key, where=generation_changed, delay=COALESCE_SECONDS)
            for source in REFERENCED.values()
        ),
        Watch(
            source=TOOLS,
            keys=_single_key,
            where=generation_changed,
            delay=COALESCE_SECONDS,
            is_enabled=_counts_tool_runs,
        ),
    ),
    reconciler=_reconciler,
    rules=(updates_status(AGENT_RUN), updates_status(TOOL_RUN)),
    namespaces=ADMISSION.namespaces,
    is_enabled=lambda settings: settings.admission is not None,
    single_key=KEY,
)
