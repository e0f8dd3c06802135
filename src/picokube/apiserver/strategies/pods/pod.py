"""Pods: defaults, admission (account, priority, tolerations, token volume), and which fields an update may change.

Accounts and priority classes are looked up through `find`; without it every one is taken to exist.
"""

from collections.abc import Collection
from copy import deepcopy
from typing import Any, ClassVar, Final
from uuid import UUID

from picokube.apiserver.gotypes.scalar_types import quantity_value
from picokube.apiserver.kinds.names import label_problems
from picokube.apiserver.kinds.resources import Find
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import MAX_INT32, Problems, each, forbidden, invalid, within
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.pods.defaults import default_pod, default_pod_spec
from picokube.apiserver.strategies.pods.spec import image_problems, pod_spec_problems, toleration
from picokube.apiserver.strategies.pods.table import pod_cells, pod_conditions

TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - where pods find theirs
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_COUNTED: Final = ("cpu", "memory")


def mount_token(spec: JsonObject, uid: str) -> None:
    if any(volume.get("name", "").startswith("kube-api-access-") for volume in spec.get("volumes") or ()):
        return
    mounting = [
        container
        for name in ("containers", "initContainers")
        for container in spec.get(name) or ()
        if all(mount.get("mountPath") != TOKEN_PATH for mount in container.get("volumeMounts") or ())
    ]
    if not mounting:
        return
    name = f"kube-api-access-{_suffix(uid)}"
    for container in mounting:
        mount = {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    volume = {"name": name, "projected": {"sources": sources, "defaultMode": 420}}
    spec["volumes"] = [*(spec.get("volumes") or ()), volume]


def _suffix(uid: str) -> str:
    """Five characters that the pod's uid decides."""
    number = UUID(uid).int if uid else 0
    return "".join(_ALPHABET[number // len(_ALPHABET) ** n % len(_ALPHABET)] for n in range(5))


def tolerate_outages(spec: JsonObject) -> None:
    """Tolerate nodes that are not ready or not reachable for five minutes, unless the pod has its own tolerations."""
    known = list(spec.get("tolerations") or ())
    for taint in _TAINTS:
        if not any(_tolerates(item, taint) for item in known):
            known.append(
                {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            )
    spec["tolerations"] = known


def _tolerates(toleration: Json, key: str) -> bool:
    return toleration.get("key", "") in (key, "") and toleration.get("effect", "") in ("NoExecute", "")


def qos_class(spec: Json) -> str:
    """Guaranteed if limits are set and equal requests, BestEffort if nothing is set, else Burstable."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    stated, guaranteed = False, True
    for container in containers:
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        wanted = {name: quantity_value(requests[name]) for name in _COUNTED if name in requests}
        allowed = {name: quantity_value(limits[name]) for name in _COUNTED if name in limits}
        stated = stated or any(wanted.values()) or any(allowed.values())
        guaranteed = guaranteed and set(allowed) == set(_COUNTED) and wanted == allowed
    if not stated:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


_SYSTEM_PRIORITIES: Final = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
_UPDATABLE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


class Pod(Kind):
    """A pod."""

    status_keeps: ClassVar = ("ownerReferences",)

    settles = True

    def __init__(self, struct: str, *, version: str = "v1", find: Find | None = None) -> None:
        super().__init__(struct, version=version)
        self._find = find

    def default(self, obj: JsonObject) -> None:
        default_pod_spec(obj["spec"])
        default_pod(obj["spec"])
        _pair_addresses(obj["status"])

    def default_rest(self, obj: JsonObject, settled: Collection[str]) -> None:
        if "status" not in settled:
            _pair_addresses(obj["status"])

    def reset(self, obj: JsonObject) -> None:
        spec = obj["spec"]
        if spec["terminationGracePeriodSeconds"] < 0:
            spec["terminationGracePeriodSeconds"] = 1
        self._admit_account(obj)
        self._admit_priority(obj)
        tolerate_outages(spec)
        obj["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}

    def reset_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        if subresource == "status":
            obj["status"].setdefault(
                "qosClass", (old.get("status") or {}).get("qosClass") or qos_class(obj["spec"])
            )
        else:
            tolerate_outages(obj["spec"])

    def problems(self, obj: Json) -> Problems:
        yield from _spec_problems(obj["spec"])
        if obj["spec"].get("ephemeralContainers"):
            yield forbidden("spec.ephemeralContainers", "cannot be set on create")

    def update_problems(self, obj: Json, old: Json) -> Problems:
        spec, before = obj["spec"], old["spec"]
        if spec is before:
            return
        yield from _spec_problems(spec)
        for name in ("containers", "initContainers"):
            if len(spec.get(name) or ()) != len(before.get(name) or ()):
                yield forbidden(f"spec.{name}", "pod updates may not add or remove containers")
                return
        yield from _deadline_problems(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
        yield from _toleration_problems(spec, before)
        if _without_updatable(spec, before) != before:
            yield forbidden("spec", _UPDATABLE)

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        secrets = enumerate(obj["spec"].get("imagePullSecrets") or ())
        return [
            *dns_label_warnings(obj, old, "the Pod's hostname"),
            *(
                f'spec.imagePullSecrets[{n}].name: invalid empty name ""'
                for n, item in secrets
                if not item.get("name")
            ),
        ]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return pod_cells(obj)

    def table_conditions(self, obj: JsonObject) -> list[JsonObject]:
        """That a pod has ended; kubectl marks such rows."""
        return pod_conditions(obj)

    def _admit_account(self, obj: JsonObject) -> None:
        """The account it runs as, and its token where pods look for it."""
        spec, meta = obj["spec"], obj["metadata"]
        name = spec.get("serviceAccountName") or "default"
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = self._find("serviceaccounts", meta.get("namespace", ""), name) if self._find else {}
        if account is None:
            if name == "default":
                # It is made in the background, and a pod need not wait for it here.
                account = {}
            else:
                why = (
                    f"error looking up service account {meta.get('namespace')}/{name}: serviceaccount "
                    f'"{name}" not found'
                )
                raise errors.forbidden("pods", "", meta.get("name", ""), why)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = deepcopy(account["imagePullSecrets"])
        wanted = spec.get("automountServiceAccountToken")
        if wanted is None:
            wanted = account.get("automountServiceAccountToken")
        if wanted is not False:
            mount_token(spec, meta.get("uid", ""))

    def _admit_priority(self, obj: JsonObject) -> None:
        spec, name = obj["spec"], obj["spec"].get("priorityClassName", "")
        value, policy = 0, "PreemptLowerPriority"
        if name in _SYSTEM_PRIORITIES:
            value = _SYSTEM_PRIORITIES[name]
        elif name and self._find:
            found = self._find("priorityclasses.scheduling.k8s.io", "", name)
            if found is None:
                why = f"no PriorityClass with name {name} was found"
                raise errors.forbidden("pods", "", obj["metadata"].get("name", ""), why)
            value, policy = found.get("value", 0), found.get("preemptionPolicy", policy)
        if spec.get("priority") not in (None, value):
            why = (
                f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; priority "
                f"admission controller computed {value} from the given PriorityClass name"
            )
            raise errors.forbidden("pods", "", obj["metadata"].get("name", ""), why)
        spec["priority"] = value
        spec.setdefault("preemptionPolicy", policy)


def dns_label_warnings(obj: Json, old: Json | None, use: str) -> list[str]:
    """The warning about a new object whose name is not a DNS label. It counts characters, while errors count bytes."""
    problems = label_problems(obj["metadata"].get("name", "")) if old is None else []
    if not problems:
        return []
    shown = " ".join(problem.replace(" bytes", " characters") for problem in problems)
    why = f"this is used in {use}, which can result in surprising behavior; a DNS label is recommended"
    return [f"metadata.name: {why}: [{shown}]"]


def _pair_addresses(status: JsonObject) -> None:
    """One address and the list of all: the list begins with the one, which counts where they differ."""
    address, addresses = status.get("podIP"), status.get("podIPs") or []
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address:
        status["podIP"] = addresses[0].get("ip", "")


def _spec_problems(spec: Json) -> Problems:
    yield from pod_spec_problems("spec", spec)
    yield from image_problems("spec", spec)


def _deadline_problems(new: int | None, old: int | None) -> Problems:
    field = "spec.activeDeadlineSeconds"
    found = list(within(0, MAX_INT32)(field, new))
    if new is None and old is not None:
        yield invalid(field, None, "must not update from a positive integer to nil value")
    elif found:
        yield from found
    elif new is not None and old is not None and old < new:
        yield invalid(field, new, "must be less than or equal to previous value")


def _toleration_problems(spec: Json, before: Json) -> Problems:
    """Tolerations may be added, and their seconds may change."""
    new, old = spec.get("tolerations") or [], before.get("tolerations") or []
    kept = [_without_seconds(item) for item in new]
    if all(_without_seconds(item) in kept for item in old):
        yield from each(toleration)("spec.tolerations", new)
    else:
        detail = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", detail)


def _without_seconds(item: Json) -> JsonObject:
    return {name: value for name, value in item.items() if name != "tolerationSeconds"}


def _without_updatable(spec: Json, before: Json) -> JsonObject:
    """The new spec with what may change taken from the old one."""
    found = dict(deepcopy(spec))
    for name in ("containers", "initContainers"):
        for new, old in zip(found.get(name) or (), before.get(name) or (), strict=False):
            new["image"] = old.get("image", "")
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        found.pop(name, None)
        if name in before:
            found[name] = before[name]
    grace = before.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and found.get("terminationGracePeriodSeconds") == 1:
        found["terminationGracePeriodSeconds"] = grace
    return found
