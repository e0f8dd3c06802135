"""Intended differences between the embedded server and a real one. Each row was reviewed.

A row names a case, a step (counted from 1) and a path inside that step as the failing test prints it; every
difference under that path is accepted. A row that accepts nothing fails the case: remove it.
"""

from typing import NamedTuple


class AcceptedDifference(NamedTuple):
    case: str
    step: int
    path: str


_CORE = "discovering/aggregated_discovery_of_core"

ACCEPTED: dict[AcceptedDifference, str] = {
    AcceptedDifference(_CORE, 1, "body.group.versions[0].resources[3].subresources"): (
        "nodes/proxy leads to a kubelet: it is rejected by name and not announced"
    ),
    AcceptedDifference(_CORE, 1, "body.group.versions[0].resources[5].subresources"): (
        "attach, exec, portforward, proxy, ephemeralcontainers and resize of pods need a kubelet: they are rejected by "
        "name and not announced"
    ),
    AcceptedDifference(_CORE, 1, "body.group.versions[0].resources[8].subresources"): (
        "services/proxy leads to pods of a cluster's network: it is rejected by name and not announced"
    ),
}
