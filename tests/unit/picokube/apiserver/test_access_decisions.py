"""Who may do what, by roles and bindings; and that no user grants more than they have."""

import json

import pytest

from picokube.apiserver.auth.access import Access, Decision, PathRequest, ResourceRequest, guard_of
from picokube.apiserver.builtin_kinds import built_in_types
from picokube.apiserver.objects.context import CommittedWrite
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import User
from picokube.apiserver.storage.store import Key, Snapshot, Stored

GROUP = "rbac.authorization.k8s.io"
JANE = User(name="jane", groups=("devs",))
LIST = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}
LIST_PODS = ResourceRequest(verb="list", resource="pods", namespace="n")


class Roles:
    """A store with nothing but these roles and bindings."""

    def __init__(self, *objects):
        self.objects = list(objects)

    def list(self, resource, namespace=None):
        del namespace
        found = [item for item in self.objects if f"{item['kind'].lower()}s.{GROUP}" == resource]
        return Snapshot(objects=[_stored(resource, item) for item in found], revision=1)


def _stored(resource, obj):
    key = Key(resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
    return Stored(key=key, uid="u", revision=1, data=json.dumps(obj).encode())


def _role(name, *rules, kind="Role", labels=None, gathers=None):
    place = {"namespace": "n"} if kind == "Role" else {}
    role = {"kind": kind, "metadata": {"name": name, "labels": labels or {}, **place}, "rules": list(rules)}
    if gathers:
        role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": gathers}]}
    return role


def _binding(role, *, kind="RoleBinding", of="Role", who="jane"):
    place = {"namespace": "n"} if kind == "RoleBinding" else {}
    reference = {"apiGroup": GROUP, "kind": of, "name": role}
    return {
        "kind": kind,
        "metadata": {"name": f"b-{role}", **place},
        "roleRef": reference,
        "subjects": [{"kind": "User", "name": who}],
    }


def test_masters_may_do_everything():
    """Without any role."""
    master = User(name="x", groups=("system:masters",))
    assert Access(Roles()).decide(master, LIST_PODS) == Decision(allowed=True)


def test_a_role_counts_in_its_namespace():
    """And nowhere else."""
    access = Access(Roles(_role("r", LIST), _binding("r")))
    reason = 'RBAC: allowed by RoleBinding "b-r/n" of Role "r" to User "jane"'
    assert access.decide(JANE, LIST_PODS) == Decision(allowed=True, reason=reason)
    elsewhere = ResourceRequest(verb="list", resource="pods", namespace="m")
    everywhere = ResourceRequest(verb="list", resource="pods")
    assert not any(access.decide(JANE, ask).allowed for ask in (elsewhere, everywhere))
    assert not access.decide(User(name="bob"), LIST_PODS).allowed


@pytest.mark.parametrize(("kind", "everywhere"), [("RoleBinding", False), ("ClusterRoleBinding", True)])
def test_a_cluster_role_counts_where_it_is_bound(kind, everywhere):
    """In one namespace, or in all and outside of them."""
    rules = (LIST, {"verbs": ["get"], "nonResourceURLs": ["/x"]})
    access = Access(Roles(_role("r", *rules, kind="ClusterRole"), _binding("r", kind=kind, of="ClusterRole")))
    assert access.decide(JANE, LIST_PODS).allowed
    assert access.decide(JANE, ResourceRequest(verb="list", resource="pods")).allowed is everywhere
    assert access.decide(JANE, PathRequest(verb="get", path="/x")).allowed is everywhere


def test_a_missing_role_is_named():
    """A binding to nothing is the reason that nothing is allowed."""
    access = Access(Roles(_binding("a"), _binding("b", of="ClusterRole")))
    missing = f'role.{GROUP} "a" not found, clusterrole.{GROUP} "b" not found'
    assert access.decide(JANE, LIST_PODS) == Decision(allowed=False, reason=f"RBAC: [{missing}]")


def test_a_role_counts_from_the_moment_it_is_written():
    """Writes of other kinds leave what was read in peace."""
    roles = Roles()
    access = Access(roles)
    kinds = {built_in_type.kind: built_in_type for built_in_type in built_in_types()}
    assert not access.decide(JANE, LIST_PODS).allowed
    roles.objects += [_role("r", LIST), _binding("r")]
    access.on_write(CommittedWrite(resource=kinds["Pod"], object={}, gone=False))
    assert not access.decide(JANE, LIST_PODS).allowed
    access.on_write(CommittedWrite(resource=kinds["Role"], object={}, gone=False))
    assert access.decide(JANE, LIST_PODS).allowed


HELD = (
    {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "*/log"]},
    {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]},
)


@pytest.mark.parametrize(
    ("rule", "missing"),
    [
        pytest.param({"resources": ["pods", "jobs/log"]}, None, id="held"),
        pytest.param({"resources": ["secrets"], "resourceNames": ["a"]}, None, id="held-name"),
        pytest.param(
            {"verbs": ["get", "watch", "*"]},
            '{APIGroups:[""], Resources:["pods"], Verbs:["watch" "*"]}',
            id="verb",
        ),
        pytest.param(
            {"apiGroups": ["apps"]}, '{APIGroups:["apps"], Resources:["pods"], Verbs:["get"]}', id="group"
        ),
        pytest.param(
            {"resources": ["secrets"]},
            '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
            id="any-name",
        ),
        pytest.param(
            {"resources": ["secrets"], "resourceNames": ["b"]},
            '{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get"]}',
            id="other-name",
        ),
        pytest.param(
            {"apiGroups": [], "resources": [], "nonResourceURLs": ["/x"]},
            '{NonResourceURLs:["/x"], Verbs:["get"]}',
            id="path",
        ),
    ],
)
def test_a_role_holds_no_more_than_its_writer(rule, missing):
    """The refusal lists what is missing."""
    access = Access(Roles(_role("r", *HELD), _binding("r")))
    role = _role("new", {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], **rule})
    if missing is None:
        guard_of("Role", access)(role, None, JANE)
        return
    with pytest.raises(errors.ApiError) as refused:
        guard_of("Role", access)(role, None, JANE)
    assert refused.value.message.endswith(f"not currently held:\n{missing}")
    guard_of("Role", access)(role, {**role, "metadata": {**role["metadata"], "finalizers": ["x/y"]}}, JANE)


def test_a_role_is_bound_by_those_who_hold_it_or_may_bind_it():
    """A role that is not there cannot be held."""
    may_bind = {
        "verbs": ["bind"],
        "apiGroups": [GROUP],
        "resources": ["clusterroles"],
        "resourceNames": ["big"],
    }
    big = _role("big", {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, kind="ClusterRole")
    binding = {**_binding("big", of="ClusterRole", who="bob"), "metadata": {"name": "new", "namespace": "n"}}
    poor, trusted = Access(Roles(big)), Access(Roles(big, _role("r", may_bind), _binding("r")))
    guard_of("RoleBinding", trusted)(binding, None, JANE)
    with pytest.raises(errors.ApiError, match="not currently held"):
        guard_of("RoleBinding", poor)(binding, None, JANE)
    with pytest.raises(errors.ApiError, match="not found"):
        guard_of("RoleBinding", Access(Roles()))(binding, None, JANE)


def test_only_a_master_may_gather_roles():
    """What a gathering role comes to hold is not known when it is written."""
    role = _role("new", kind="ClusterRole", gathers={"to": "x"})
    with pytest.raises(errors.ApiError, match="must have cluster-admin privileges"):
        guard_of("ClusterRole", Access(Roles()))(role, None, JANE)
    guard_of("ClusterRole", Access(Roles()))(role, None, User(name="x", groups=("system:masters",)))
