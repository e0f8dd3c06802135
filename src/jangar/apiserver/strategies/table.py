"""Which strategy each built-in kind has, and what of its behaviour the frame must know. A table; decides nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jangar.apiserver.names import label_problems, path_segment_problems, subdomain_problems
from jangar.apiserver.resources import Strategy
from jangar.apiserver.strategies.cron_job import CronJob
from jangar.apiserver.strategies.job import Job
from jangar.apiserver.strategies.kind import Kind
from jangar.apiserver.strategies.pod import Find, Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What a kind does beyond its generated facts."""

    strategy: Strategy
    has_generation: bool = False
    selectable_fields: tuple[str, ...] = ()
    name_problems: Callable[[str], list[str]] = subdomain_problems
    unconditional_update: bool = True
    create_on_update: bool = False
    grace_seconds: int | None = None
    stored_as: str = ""


_GENERATIONS = frozenset(
    "Pod Job CronJob DaemonSet StatefulSet Deployment ReplicaSet PriorityClass Ingress NetworkPolicy "
    "PodDisruptionBudget EndpointSlice ValidatingWebhookConfiguration MutatingWebhookConfiguration "
    "CustomResourceDefinition".split()
)
_CONDITIONAL = frozenset(
    "Lease PodDisruptionBudget ValidatingWebhookConfiguration MutatingWebhookConfiguration CustomResourceDefinition".split()
)
_CREATED_BY_PUT = frozenset(
    "Event Service Endpoints LimitRange Role RoleBinding ClusterRole ClusterRoleBinding Lease".split()
)


_STRATEGIES: dict[str, type[Kind]] = {"Job": Job, "CronJob": CronJob}


def behaviour_of(row: dict[str, Any], find: Find | None = None) -> Behaviour:
    kind = row["kind"]
    struct, version = row["struct"], row["version"]
    strategy = Pod(struct, version=version, find=find) if kind == "Pod" else _STRATEGIES.get(kind, Kind)(struct, version=version)
    return Behaviour(
        strategy=strategy,
        has_generation=kind in _GENERATIONS,
        unconditional_update=kind not in _CONDITIONAL,
        create_on_update=kind in _CREATED_BY_PUT,
    )
