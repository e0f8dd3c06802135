"""Intended differences between the embedded server and a real one. Each row was reviewed.

A row names a case, a step (counted from 1) and a path inside that step as the failing test prints it; every
difference under that path is accepted. A row that accepts nothing fails the case: remove it.
"""

from typing import NamedTuple


class Place(NamedTuple):
    case: str
    step: int
    path: str


_CORE = "discovering/aggregated_discovery_of_core"

ACCEPTED: dict[Place, str] = {
    Place(_CORE, 1, "body.group.versions[0].resources[3].subresources"): (
        "nodes/proxy leads to a kubelet: it is refused by name and not announced"
    ),
    Place(_CORE, 1, "body.group.versions[0].resources[5].subresources"): (
        "attach, exec, portforward, proxy, ephemeralcontainers and resize of pods need a kubelet: they are refused by "
        "name and not announced"
    ),
    Place(_CORE, 1, "body.group.versions[0].resources[8].subresources"): (
        "services/proxy leads to pods of a cluster's network: it is refused by name and not announced"
    ),
}
