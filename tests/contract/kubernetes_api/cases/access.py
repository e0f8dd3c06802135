"""Roles and bindings as objects; access reviews for oneself and others; priority classes."""

from contract.kubernetes_api.objects import RBAC
from contract.kubernetes_api.session import Session

ROLES = f"{RBAC}/namespaces/{{ns}}/roles"
BINDINGS = f"{RBAC}/namespaces/{{ns}}/rolebindings"
REVIEWS = "/apis/authorization.k8s.io/v1"
API = "rbac.authorization.k8s.io/v1"
READ = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


def _role(name="a", rules=None):
    return {
        "apiVersion": API,
        "kind": "Role",
        "metadata": {"name": name},
        "rules": rules if rules is not None else [READ],
    }


def _binding(name="a", **fields):
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}
    who = [{"kind": "ServiceAccount", "name": "x", "namespace": "{ns}"}]
    return {
        "apiVersion": API,
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": ref,
        "subjects": who,
        **fields,
    }


def _review(kind, spec, api="authorization.k8s.io/v1"):
    return {"apiVersion": api, "kind": kind, "spec": spec}


def roles_are_objects(s: Session):
    s.post(ROLES, _role())
    s.post(ROLES, _role("b", []))
    s.post(ROLES, {"apiVersion": API, "kind": "Role", "metadata": {"name": "with:colon"}})


def rules_are_checked(s: Session):
    s.post(ROLES, _role(rules=[{**READ, "verbs": []}]))
    s.post(ROLES, _role(rules=[{"verbs": ["get"], "resources": ["pods"]}]))
    s.post(ROLES, _role(rules=[{"verbs": ["get"], "apiGroups": [""]}]))
    s.post(ROLES, _role(rules=[{"verbs": ["get"], "nonResourceURLs": ["/x"]}]))
    s.post(ROLES, _role(rules=[{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]))


def bindings_are_filled_with_defaults(s: Session):
    s.post(
        BINDINGS,
        _binding(
            roleRef={"kind": "Role", "name": "a"},
            subjects=[
                {"kind": "User", "name": "u"},
                {"kind": "Group", "name": "g"},
                {"kind": "ServiceAccount", "name": "x"},
            ],
        ),
    )


def bindings_are_checked(s: Session):
    s.post(BINDINGS, _binding(subjects=[{"kind": "Robot", "name": "r"}]))
    s.post(BINDINGS, _binding(subjects=[{"kind": "User", "name": ""}]))
    s.post(
        BINDINGS, _binding(roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Thing", "name": "a"})
    )
    s.post(BINDINGS, _binding(roleRef={"apiGroup": "x", "kind": "Role", "name": ""}))


def a_role_reference_does_not_change(s: Session):
    with s.unrecorded():
        s.post(BINDINGS, _binding())
    s.merge(f"{BINDINGS}/a", {"roleRef": {"name": "b"}})
    s.merge(f"{BINDINGS}/a", {"subjects": []})


def cluster_roles_and_bindings_are_objects(s: Session):
    s.post(
        f"{RBAC}/clusterroles",
        {
            "apiVersion": API,
            "kind": "ClusterRole",
            "metadata": {"name": "{ns}-a"},
            "rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}],
        },
    )
    s.post(
        f"{RBAC}/clusterrolebindings",
        {
            "apiVersion": API,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "{ns}-a"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "{ns}-a"},
            "subjects": [],
        },
    )


def a_priority_class_keeps_its_value(s: Session):
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    body = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "{ns}-a"},
        "value": 5,
    }
    s.post(path, body)
    s.merge(f"{path}/{{ns}}-a", {"value": 6})
    s.merge(f"{path}/{{ns}}-a", {"description": "five"})
    s.post(path, {**body, "metadata": {"name": "{ns}-b"}, "value": 2000000000})
    s.post(path, {**body, "metadata": {"name": "system-{ns}"}})
    s.post(path, {**body, "metadata": {"name": "{ns}-c"}, "preemptionPolicy": "Always"})


def a_self_subject_review_names_the_caller(s: Session):
    s.post(
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
    )


def a_self_access_review_is_answered(s: Session):
    s.post(
        f"{REVIEWS}/selfsubjectaccessreviews",
        _review(
            "SelfSubjectAccessReview",
            {"resourceAttributes": {"verb": "create", "resource": "pods", "namespace": "{ns}"}},
        ),
    )
    s.post(
        f"{REVIEWS}/selfsubjectaccessreviews",
        _review("SelfSubjectAccessReview", {"nonResourceAttributes": {"verb": "get", "path": "/x"}}),
    )
    s.post(f"{REVIEWS}/selfsubjectaccessreviews", _review("SelfSubjectAccessReview", {}))


def an_access_review_for_another_user_is_answered(s: Session):
    attributes = {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "{ns}"}}
    s.post(
        f"{REVIEWS}/subjectaccessreviews", _review("SubjectAccessReview", {**attributes, "user": "nobody"})
    )
    s.post(
        f"{REVIEWS}/subjectaccessreviews",
        _review("SubjectAccessReview", {**attributes, "user": "x", "groups": ["system:masters"]}),
    )
    s.post(f"{REVIEWS}/subjectaccessreviews", _review("SubjectAccessReview", attributes))
    s.post(
        f"{REVIEWS}/namespaces/{{ns}}/localsubjectaccessreviews",
        {
            **_review("LocalSubjectAccessReview", {**attributes, "user": "nobody"}),
            "metadata": {"namespace": "{ns}"},
        },
    )


def a_token_review_names_the_owner(s: Session):
    path, api = "/apis/authentication.k8s.io/v1/tokenreviews", "authentication.k8s.io/v1"
    s.post(path, _review("TokenReview", {"token": "nonsense"}, api))
    s.post(path, _review("TokenReview", {}, api))


def reviews_are_not_stored(s: Session):
    s.get("/apis/authentication.k8s.io/v1/selfsubjectreviews")
    s.get(f"{REVIEWS}/selfsubjectaccessreviews")
    s.get(f"{REVIEWS}/selfsubjectaccessreviews/a")


def a_rules_review_lists_permissions(s: Session):
    s.post(
        f"{REVIEWS}/selfsubjectrulesreviews",
        _review("SelfSubjectRulesReview", {"namespace": "{ns}"}),
        select=lambda b: {
            **b,
            "status": {
                **b["status"],
                "nonResourceRules": len(b["status"]["nonResourceRules"]) > 0,
                "resourceRules": {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
                in b["status"]["resourceRules"],
            },
        },
    )


def an_account_token_can_be_requested(s: Session):
    s.eventually(
        "/api/v1/namespaces/{ns}/serviceaccounts/default", lambda answer: answer.is_success, record=False
    )
    path = "/api/v1/namespaces/{ns}/serviceaccounts/default/token"
    s.post(
        path,
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 600},
        },
    )
    s.post(
        path,
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 5}},
    )
