"""The controllers of agents wired to each other: what they watch, whom a change wakes. A part of the engine."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jangar.api.agents.agent import AGENT
from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.agents.implementation import IMPLEMENTATION_SPEC
from jangar.api.agents.memory import MEMORY
from jangar.api.agents.provider import AGENT_PROVIDER
from jangar.api.agents.vcs import VERSION_CONTROL_PROVIDER
from jangar.api.kind import Kind
from jangar.api.phases import TERMINAL
from jangar.controllers.agentrun.order import is_template
from jangar.controllers.definition.checks import AgentCheck, check_provider, check_task, check_version_control
from jangar.controllers.definition.reconciler import Check, DefinitionReconciler
from jangar.controllers.job_execution.reconciler import WorkReconciler
from jangar.controllers.status_writer import StatusWriter
from jangar.controllers.watch_predicates import (
    asks_to_stop,
    is_same,
    is_status_alone,
    telling_job,
    telling_pod,
    watch_all,
)
from kubekit.cache.informer import Change, Informer
from kubekit.cache.object_cache import Cached, Indexer
from kubekit.controller.controller import Controller
from kubekit.controller.reconcile import DONE, Key, Reconciler, Result, own_key, owner_key

OPEN = "open"
"""Index: AgentRuns that have not started yet, by namespace."""
NAMED = (AGENT, AGENT_PROVIDER, IMPLEMENTATION_SPEC, MEMORY, VERSION_CONTROL_PROVIDER)
"""Kinds that a run names, itself or through its Agent."""


def open_index(cached: Cached) -> Iterable[str]:
    """A run that may still wait for what it names."""
    status: Mapping[str, Any] = cached.view.get("status") or {}
    return () if status.get("job") or status.get("phase") in TERMINAL else (cached.namespace,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """What is watched for agents."""

    runs: Informer
    named: Mapping[str, Informer]
    """By kind."""

    @classmethod
    def watching(cls, of: Callable[[Kind, Mapping[str, Indexer]], Informer]) -> "Agents":
        return cls(runs=of(AGENT_RUN, {OPEN: open_index}), named={kind.name: of(kind, {}) for kind in NAMED})

    @property
    def informers(self) -> tuple[Informer, ...]:
        return (self.runs, *self.named.values())

    def run_controller(
        self,
        made: Callable[[str, Reconciler, Informer], Controller],
        reconcile: WorkReconciler,
        *,
        jobs: Informer,
        pods: Informer,
        child_of_pod: Callable[[Change], Iterable[Key]],
        beside: Iterable[Informer] = (),
    ) -> Controller:
        """`beside` are kinds that decide whether a run may start, and that it does not name."""

        async def unless_template(key: Key) -> Result:
            seen = self.runs.cache.get(key.namespace, key.name)
            return DONE if seen is None or is_template(seen) else await reconcile(key)

        controller = made("agentrun", unless_template, self.runs)
        controller.watch(self.runs, where=asks_to_stop, first=True)
        watch_all(controller, self.runs, own_key, is_status_alone)
        watch_all(controller, jobs, owner_key(AGENT_RUN.name), is_same(telling_job))
        watch_all(controller, pods, child_of_pod, is_same(telling_pod))
        for informer in (*self.named.values(), *beside):
            controller.watch(informer, self._open_runs, where=_says_something_new)
        return controller

    def definition_controllers(
        self,
        made: Callable[[str, Reconciler, Informer], Controller],
        writer: StatusWriter,
        now: Callable[[], datetime],
    ) -> list[Controller]:
        """Of the kinds that only declare something and are checked here."""
        agents, providers = self.named[AGENT.name], self.named[AGENT_PROVIDER.name]
        checks: tuple[tuple[Kind, Check], ...] = (
            (AGENT, AgentCheck(providers=providers.cache)),
            (AGENT_PROVIDER, check_provider),
            (IMPLEMENTATION_SPEC, check_task),
            (VERSION_CONTROL_PROVIDER, check_version_control),
        )
        controllers = []
        for kind, check in checks:
            informer = self.named[kind.name]
            reconcile = DefinitionReconciler(
                informer=informer, writer=writer, check=check, own_fields=frozenset(), now=now
            )
            controller = made(kind.name.lower(), reconcile, informer)
            controller.watch(informer)
            if kind is AGENT:
                controller.watch(providers, _all_beside(agents), where=_says_something_new)
            controllers.append(controller)
        return controllers

    def _open_runs(self, change: Change) -> Iterable[Key]:
        found = self.runs.cache.by(OPEN, change.subject.namespace)
        return [Key(item.namespace, item.name) for item in found]


def _all_beside(agents: Informer) -> Callable[[Change], Iterable[Key]]:
    def keys(change: Change) -> Iterable[Key]:
        return [Key(item.namespace, item.name) for item in agents.cache.all(change.subject.namespace)]

    return keys


def _says_something_new(change: Change) -> bool:
    old, new = change.old, change.new
    return old is None or new is None or old.generation != new.generation
