"""Aggregated ClusterRoles, and the permissions of the default roles."""

from contract.kubernetes_api.objects import RBAC
from contract.kubernetes_api.session import Session

ROLES = f"{RBAC}/clusterroles"


def _role(name, *rules, labels=None, gathers=None):
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, **({"labels": labels} if labels else {})},
        "rules": list(rules),
    }
    if gathers:
        role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": gathers}]}
    return role


def _rule(resource, *verbs):
    return {"apiGroups": ["example.com"], "resources": [resource], "verbs": list(verbs)}


def an_aggregated_role_is_filled_with_the_rules_of_others(s: Session):
    label = {"example.com/{ns}": "true"}
    with s.unrecorded():
        s.post(ROLES, _role("{ns}-b", _rule("bees", "get"), labels=label))
        s.post(ROLES, _role("{ns}-a", _rule("apes", "get", "list"), labels=label))
        s.post(ROLES, _role("{ns}-all", gathers=label))
    s.eventually(f"{ROLES}/{{ns}}-all", lambda a: len(a.body.get("rules") or ()) == 2)
    with s.unrecorded():
        s.post(ROLES, _role("{ns}-c", _rule("cats", "get"), _rule("bees", "get"), labels=label))
    s.eventually(
        f"{ROLES}/{{ns}}-all", lambda a: len(a.body["rules"]) == 3, select=lambda body: body["rules"]
    )
    with s.unrecorded():
        s.merge(f"{ROLES}/{{ns}}-a", {"rules": [_rule("apes", "get", "list", "watch")]})
    s.eventually(
        f"{ROLES}/{{ns}}-all",
        lambda a: "watch" in a.body["rules"][0]["verbs"],
        select=lambda body: body["rules"],
    )
    with s.unrecorded():
        s.merge(f"{ROLES}/{{ns}}-b", {"metadata": {"labels": None}})
        s.delete(f"{ROLES}/{{ns}}-c")
    s.eventually(
        f"{ROLES}/{{ns}}-all", lambda a: len(a.body["rules"]) == 1, select=lambda body: body["rules"]
    )


def rules_written_by_hand_into_an_aggregated_role_do_not_stay(s: Session):
    label = {"example.com/{ns}": "true"}
    with s.unrecorded():
        s.post(ROLES, _role("{ns}-a", _rule("apes", "get"), labels=label))
        s.post(ROLES, _role("{ns}-all", _rule("mine", "get"), gathers=label))
    s.eventually(
        f"{ROLES}/{{ns}}-all",
        lambda a: a.body["rules"][0]["resources"] == ["apes"],
        select=lambda body: body["rules"],
    )


def the_roles_of_every_cluster_allow_leases_and_events(s: Session):
    """D2: the permissions of `view`, `edit` and `admin` on the kinds that this server has."""
    for role in ("view", "edit", "admin"):
        s.get(
            f"{ROLES}/{role}", select=lambda body: [body["metadata"]["labels"], body.get("aggregationRule")]
        )
        s.eventually(f"{ROLES}/{role}", lambda a: bool(a.body["rules"]), select=_on_shared_kinds)


def _on_shared_kinds(body):
    """Verbs by resource of a few groups."""
    verbs_by_resource = {}
    for rule in body["rules"]:
        for group in rule.get("apiGroups", ()):
            for resource in rule.get("resources", ()):
                if f"{group}/{resource}" in SHARED:
                    verbs_by_resource.setdefault(f"{group}/{resource}", set()).update(rule["verbs"])
    return {name: sorted(verbs) for name, verbs in sorted(verbs_by_resource.items())}


SHARED = frozenset(
    {
        "coordination.k8s.io/leases",
        "events.k8s.io/events",
        "/events",
        "/configmaps",
        "/pods",
        "/secrets",
        "/replicationcontrollers",
        "/replicationcontrollers/scale",
        "batch/jobs",
        "apps/deployments/scale",
        "autoscaling/horizontalpodautoscalers",
        "rbac.authorization.k8s.io/roles",
    }
)
