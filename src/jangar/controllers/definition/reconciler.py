"""One pass over a definition: check it, and say whether it is ready."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from jangar.api.meta import JsonObject
from jangar.api.problems import Problem
from jangar.controllers.status_writer import StatusWriter
from jangar.domain.conditions import definition_claims
from jangar.domain.definition_status import (
    DEFINITION_FIELDS,
    advance_definition,
    definition_phase,
    definition_status_from,
    definition_status_to,
)
from kubekit.cache.informer import Informer
from kubekit.cache.object_cache import Cached
from kubekit.controller.evaluation import evaluated
from kubekit.controller.reconcile import DONE, Key, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What checking one object found."""

    problems: list[Problem]
    missing: list[Problem]
    """Named objects that do not exist yet: no mistake, but not ready."""
    more: JsonObject
    """Status fields of the kind's own."""


class Check(Protocol):
    """What a kind asks of its objects."""

    def __call__(self, seen: Cached, spec: Mapping[str, Any], /) -> Checked: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionReconciler:
    """Serves every kind that only declares something."""

    informer: Informer
    writer: StatusWriter
    check: Check
    own_fields: frozenset[str]
    now: Callable[[], datetime]

    async def __call__(self, key: Key) -> Result:
        seen = self.informer.cache.get(key.namespace, key.name)
        if seen is None or seen.is_being_deleted:
            return DONE
        obj = seen.view
        found = await evaluated(lambda: self.check(seen, obj.get("spec") or {}), size=len(seen.raw))
        status = advance_definition(
            definition_status_from(obj.get("status") or {}),
            phase=definition_phase(found.problems),
            generation=seen.generation,
            claims=definition_claims(found.problems, missing=found.missing),
            now=self.now(),
        )
        document = definition_status_to(status) | found.more
        await self.writer.write(self.informer, seen, document, known=DEFINITION_FIELDS | self.own_fields)
        return DONE
