"""One pass over a definition: validate it, and write whether it is ready."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jangar.api.phases import DefinitionPhase
from jangar.controllers.definition.checks import Check
from jangar.controllers.status_writer import StatusWriter
from jangar.domain.conditions import definition_claims
from jangar.domain.status_contract import (
    DEFINITION_FIELDS,
    advance_definition,
    definition_phase,
    definition_status_from,
    definition_status_to,
)
from kubekit.cache.informer import Informer
from kubekit.controller.evaluation import evaluated
from kubekit.controller.reconcile import DONE, Key, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionReconciler:
    """Validates the objects of one kind."""

    informer: Informer
    writer: StatusWriter
    check: Check
    now: Callable[[], datetime]

    async def __call__(self, key: Key) -> Result:
        cached = self.informer.cache.get(key.namespace, key.name)
        if cached is None or cached.is_being_deleted:
            return DONE
        obj = cached.view
        checked = await evaluated(lambda: self.check(cached, obj.get("spec") or {}), size=len(cached.raw))
        status = advance_definition(
            definition_status_from(_with_known_phase(obj.get("status") or {})),
            phase=definition_phase(checked.problems),
            generation=cached.generation,
            claims=definition_claims(checked.problems, missing=checked.missing),
            now=self.now(),
        )
        document = definition_status_to(status) | checked.fields
        await self.writer.write(
            self.informer, cached, document, known=DEFINITION_FIELDS | checked.fields.keys()
        )
        return DONE


def _with_known_phase(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Other systems may write phases of their own, such as Active, to kinds that are not built."""
    return status if status.get("phase") in set(DefinitionPhase) else {**status, "phase": None}
