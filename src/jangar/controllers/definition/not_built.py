"""Reconciles objects of kinds that are not built: sets Ready=False with reason NotBuilt."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jangar.api.kind import Kind
from jangar.api.kinds import KINDS
from jangar.api.not_built import KINDS_NOT_BUILT
from jangar.api.phases import DefinitionPhase
from jangar.controllers.status_writer import StatusWriter
from jangar.domain.conditions import definition_claims
from jangar.domain.definition_status import (
    DEFINITION_FIELDS,
    advance_definition,
    definition_status_from,
    definition_status_to,
)
from jangar.domain.not_built import not_built_problems
from kubekit.cache.informer import Informer
from kubekit.controller.controller import Controller
from kubekit.controller.manager import Manager
from kubekit.controller.reconcile import DONE, Key, Reconciler, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class NotBuiltReconciler:
    """Serves every kind of the table."""

    informer: Informer
    writer: StatusWriter
    now: Callable[[], datetime]

    async def __call__(self, key: Key) -> Result:
        seen = self.informer.cache.get(key.namespace, key.name)
        if seen is None or seen.is_being_deleted:
            return DONE
        problems = list(not_built_problems(self.informer.resource.kind, seen.view.get("spec") or {}))
        status = advance_definition(
            definition_status_from(_with_known_phase(seen.view.get("status") or {})),
            phase=DefinitionPhase.INVALID,
            generation=seen.generation,
            claims=definition_claims(problems),
            now=self.now(),
        )
        await self.writer.write(self.informer, seen, definition_status_to(status), known=DEFINITION_FIELDS)
        return DONE


def _with_known_phase(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Another system may have written a phase of the kind's own, such as Active."""
    return status if status.get("phase") in set(DefinitionPhase) else {**status, "phase": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class NotBuiltKinds:
    """What is watched for them: nothing happens unless somebody creates or changes such an object."""

    informers: tuple[Informer, ...] = ()

    @classmethod
    def watching(cls, of: Callable[[Kind], Informer]) -> "NotBuiltKinds":
        return cls(informers=tuple(of(kind) for kind in KINDS if kind.name in KINDS_NOT_BUILT))

    def join(self, manager: Manager) -> None:
        """Nothing waits for these informers: a cluster without the CRDs works all the same."""
        for informer in self.informers:
            manager.add_service(f"not-built-{informer.resource.plural}", informer.run)

    def controllers(
        self,
        made: Callable[[str, Reconciler, Informer], Controller],
        writer: StatusWriter,
        now: Callable[[], datetime],
    ) -> Iterator[Controller]:
        for informer in self.informers:
            reconcile = NotBuiltReconciler(informer=informer, writer=writer, now=now)
            controller = made(informer.resource.kind.lower(), reconcile, informer)
            controller.watch(informer)
            yield controller
