"""Pods: defaults, what admission adds on a real server, and which fields an update may change.

Whether an account or a priority class exists is asked through `find`; without it every one is taken to exist.
"""

from collections.abc import Callable, Collection
from copy import deepcopy
from typing import Any, ClassVar, Final

from picokube.apiserver import errors
from picokube.apiserver.names import label_problems
from picokube.apiserver.strategies.checks import Json, JsonObject, forbidden, in_range, invalid
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.pod_admission import mount_token, qos_class, tolerate_outages
from picokube.apiserver.strategies.pod_defaults import default_pod, default_pod_spec
from picokube.apiserver.strategies.pod_spec import image_problems, pod_spec_problems, toleration_problems
from picokube.apiserver.strategies.pod_table import pod_cells, pod_conditions
from picokube.schema import FieldError

Find = Callable[[str, str, str], JsonObject | None]
"""A stored object by resource (`serviceaccounts`), namespace and name."""

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

    def problems(self, obj: Json) -> list[FieldError]:
        spec = obj["spec"]
        problems = [*pod_spec_problems("spec", spec), *image_problems("spec", spec)]
        if spec.get("ephemeralContainers"):
            problems.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
        return problems

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        spec, before = obj["spec"], old["spec"]
        if spec is before:
            return []
        problems = [*pod_spec_problems("spec", spec), *image_problems("spec", spec)]
        for name in ("containers", "initContainers"):
            if len(spec.get(name) or ()) != len(before.get(name) or ()):
                return [*problems, forbidden(f"spec.{name}", "pod updates may not add or remove containers")]
        problems += _deadline_problems(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
        problems += _lost_tolerations(spec, before)
        if _without_updatable(spec, before) != before:
            problems.append(forbidden("spec", _UPDATABLE))
        return problems

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        found: list[str] = []
        name = obj["metadata"].get("name", "")
        if old is None and (problems := dns_label_advice(name)):
            found.append(
                "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS "
                f"label is recommended: [{' '.join(problems)}]"
            )
        for n, item in enumerate(obj["spec"].get("imagePullSecrets") or ()):
            if not item.get("name"):
                found.append(f'spec.imagePullSecrets[{n}].name: invalid empty name ""')
        return found

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return pod_cells(obj)

    def table_conditions(self, obj: JsonObject) -> list[JsonObject]:
        """That a pod is over; kubectl tells such rows from others."""
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


def dns_label_advice(name: str) -> list[str]:
    """Why a name is no good as a host name. Advice counts characters where refusals count bytes."""
    return [problem.replace(" bytes", " characters") for problem in label_problems(name)]


def _pair_addresses(status: JsonObject) -> None:
    """One address and the list of all: the list begins with the one, which counts where they differ."""
    address, addresses = status.get("podIP"), status.get("podIPs") or []
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address:
        status["podIP"] = addresses[0].get("ip", "")


def _deadline_problems(new: int | None, old: int | None) -> list[FieldError]:
    field = "spec.activeDeadlineSeconds"
    if new is None:
        return (
            []
            if old is None
            else [invalid(field, None, "must not update from a positive integer to nil value")]
        )
    if problems := in_range(field, new, 0, 2**31 - 1):
        return problems
    return (
        [invalid(field, new, "must be less than or equal to previous value")]
        if old is not None and old < new
        else []
    )


def _lost_tolerations(spec: Json, before: Json) -> list[FieldError]:
    new, old = spec.get("tolerations") or [], before.get("tolerations") or []
    same = [{name: value for name, value in item.items() if name != "tolerationSeconds"} for item in new]
    for item in old:
        if {name: value for name, value in item.items() if name != "tolerationSeconds"} not in same:
            return [
                forbidden(
                    "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
                )
            ]
    return toleration_problems("spec.tolerations", new)


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
