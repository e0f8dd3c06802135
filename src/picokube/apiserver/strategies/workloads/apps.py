"""Deployments and other workloads: stored with their defaults. Nothing runs them, and a warning says so."""

from typing import Any, ClassVar, Final

from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    Problems,
    check,
    immutable,
    invalid,
    label_selector,
    need,
    non_negative,
    required,
    supported,
    template_labels_match,
)
from picokube.apiserver.strategies.kind import StoredOnly
from picokube.apiserver.strategies.pods.defaults import default_pod_spec
from picokube.apiserver.strategies.pods.spec import template_problems
from picokube.apiserver.strategies.printing import containers_and_images, created, pairs, selector

_DAEMON_COUNTS: Final = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


class Workload(StoredOnly):
    """What they have in common: a template, and a selector of its pods."""

    reason: ClassVar = "nothing runs {} on this server; they are only stored"
    counted: ClassVar = True
    rollout: ClassVar[JsonObject] = {}
    """Defaults of the spec that say how changes are rolled out."""

    def default(self, obj: JsonObject) -> None:
        spec = obj["spec"]
        default_pod_spec(spec["template"].setdefault("spec", {}))
        if self.counted and spec.get("replicas") is None:
            spec["replicas"] = 1
        _set_defaults(spec, self.rollout)

    def problems(self, obj: Json) -> Problems:
        spec = obj["spec"]
        yield from check("spec", spec, ("replicas", non_negative))
        selected = spec.get("selector")
        if selected is None:
            yield required("spec.selector")
        elif not selected:
            yield invalid("spec.selector", selected, "empty selector is invalid for deployment")
        yield from label_selector("spec.selector", selected)
        yield from template_labels_match(spec)
        yield from _template_problems(spec["template"])

    def update_problems(self, obj: Json, old: Json) -> Problems:
        yield from self.problems(obj)
        yield from immutable("spec.selector", obj["spec"].get("selector"), old["spec"].get("selector"))

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        return [
            *self.counts(spec, status),
            created(obj),
            *containers_and_images(spec.get("template") or {}),
            *self.selectors(spec),
        ]

    def counts(self, spec: Json, status: Json) -> list[Any]:
        """The cells before the age."""
        return [spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]

    def selectors(self, spec: Json) -> list[Any]:
        """The cells after the images."""
        return [selector(spec.get("selector"))]


def _set_defaults(spec: JsonObject, defaults: JsonObject) -> None:
    """Set missing members; members of `rollingUpdate` only for a strategy of that type."""
    for name, value in defaults.items():
        if not isinstance(value, dict):
            spec.setdefault(name, value)
        elif name != "rollingUpdate" or spec["type"] == "RollingUpdate":
            _set_defaults(spec.setdefault(name, {}), value)


def _template_problems(template: Json) -> Problems:
    yield from template_problems("spec.template", template)
    policy = (template.get("spec") or {}).get("restartPolicy")
    yield from supported("Always")("spec.template.spec.restartPolicy", policy)


def _ready(spec: Json, status: Json) -> str:
    return f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"


class Deployment(Workload):
    """A deployment."""

    plural: ClassVar = "Deployments"
    rollout: ClassVar = {
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
        },
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }

    def counts(self, spec: Json, status: Json) -> list[Any]:
        return [_ready(spec, status), status.get("updatedReplicas", 0), status.get("availableReplicas", 0)]


class ReplicaSet(Workload):
    """A replica set."""

    plural: ClassVar = "ReplicaSets"


class ReplicationController(Workload):
    """The older replica set: its selector is a map of labels."""

    plural: ClassVar = "ReplicationControllers"

    def default(self, obj: JsonObject) -> None:
        spec = obj["spec"]
        template = spec.get("template")
        if template is not None:
            labels = (template.get("metadata") or {}).get("labels")
            if labels and not spec.get("selector"):
                spec["selector"] = dict(labels)
            if labels and not obj["metadata"].get("labels"):
                obj["metadata"]["labels"] = dict(labels)
            default_pod_spec(template.setdefault("spec", {}))
        if spec.get("replicas") is None:
            spec["replicas"] = 1

    def problems(self, obj: Json) -> Problems:
        spec = obj["spec"]
        rows = (("minReadySeconds", non_negative), ("selector", need()), ("replicas", non_negative))
        yield from check("spec", spec, *rows, ("template", _present))
        if spec.get("template") is not None:
            if labels := spec.get("selector"):
                yield from template_labels_match({**spec, "selector": {"matchLabels": labels}})
            yield from _template_problems(spec["template"])

    def update_problems(self, obj: Json, _old: Json) -> Problems:
        return self.problems(obj)

    def selectors(self, spec: Json) -> list[Any]:
        return [pairs(spec.get("selector"))]


def _present(field: str, value: Json | None) -> Problems:
    if value is None:
        yield required(field)


class StatefulSet(Workload):
    """A stateful set."""

    plural: ClassVar = "StatefulSets"
    rollout: ClassVar = {
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "revisionHistoryLimit": 10,
    }

    def default(self, obj: JsonObject) -> None:
        super().default(obj)
        for claim in obj["spec"].get("volumeClaimTemplates") or ():
            claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
            claim["spec"].setdefault("volumeMode", "Filesystem")
            claim["status"].setdefault("phase", "Pending")

    def counts(self, spec: Json, status: Json) -> list[Any]:
        return [_ready(spec, status)]

    def selectors(self, _spec: Json) -> list[Any]:
        return []


class DaemonSet(Workload):
    """A daemon set."""

    plural: ClassVar = "DaemonSets"
    counted: ClassVar = False
    rollout: ClassVar = {
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        "revisionHistoryLimit": 10,
    }

    def reset(self, obj: JsonObject) -> None:
        annotations = obj["metadata"].get("annotations") or {}
        obj["metadata"]["annotations"] = annotations | {"deprecated.daemonset.template.generation": "1"}

    def counts(self, spec: Json, status: Json) -> list[Any]:
        nodes = ((spec.get("template") or {}).get("spec") or {}).get("nodeSelector")
        return [*(status.get(name, 0) for name in _DAEMON_COUNTS), pairs(nodes)]
