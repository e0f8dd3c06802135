"""Service accounts: authenticated by their tokens, authorized by roles; and impersonation."""

import time

from contract.kubernetes_api.cases.access import API, BINDINGS, REVIEWS, ROLES
from contract.kubernetes_api.objects import ACCOUNTS, CONFIG_MAPS, PODS, RBAC, config_map, pod, pod_spec
from contract.kubernetes_api.session import WAIT, Session

AUTH = "authentication.k8s.io/v1"
ACCOUNT = "system:serviceaccount:{ns}:robot"
SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def _account(s: Session, **spec) -> str:
    """A new account and its token."""
    with s.unrecorded():
        s.post(ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
        return _token(s, **spec)


def _token(s: Session, **spec) -> str:
    body = {"apiVersion": AUTH, "kind": "TokenRequest", "spec": spec}
    return s.post(f"{ACCOUNTS}/robot/token", body).body["status"]["token"]


def _grant(s: Session, *rules: dict) -> None:
    """A role with these rules, bound to the account."""
    role = {"apiVersion": API, "kind": "Role", "metadata": {"name": "a"}, "rules": list(rules)}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}
    who = [{"kind": "ServiceAccount", "name": "robot", "namespace": "{ns}"}]
    binding = {
        "apiVersion": API,
        "kind": "RoleBinding",
        "metadata": {"name": "a"},
        "roleRef": ref,
        "subjects": who,
    }
    with s.unrecorded():
        s.post(ROLES, role)
        s.post(BINDINGS, binding)
    first = rules[0]
    body = {
        "verb": first["verbs"][0],
        "group": first["apiGroups"][0],
        "resource": first["resources"][0].partition("/")[0],
        "subresource": first["resources"][0].partition("/")[2],
        "namespace": "{ns}",
        "name": (first.get("resourceNames") or [""])[0],
    }
    _until(s, lambda answer: answer["allowed"], body)


def _until(s: Session, holds, attributes: dict) -> None:
    """Wait until the roles are in force, shortly after they are written."""
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    review["spec"] = {"user": ACCOUNT, "groups": ["system:authenticated"], "resourceAttributes": attributes}
    deadline = time.monotonic() + WAIT
    with s.unrecorded():
        while not holds(s.post(f"{REVIEWS}/subjectaccessreviews", review).body["status"]):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _without_credential(body):
    """The token's id differs in every run."""
    for user in (body["status"].get("userInfo"), body["status"].get("user")):
        if user and (extra := user.get("extra")):
            extra["authentication.kubernetes.io/credential-id"] = "<credential>"
    return body


def an_account_is_known_by_its_token(s: Session):
    token = _account(s)
    s.post(SELF, {"apiVersion": AUTH, "kind": "SelfSubjectReview"}, token=token, select=_without_credential)
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    review = {"apiVersion": AUTH, "kind": "TokenReview"}
    s.post(
        path,
        {**review, "spec": {"token": token}},
        shown="the token",
        select=lambda b: _without_credential(b)["status"],
    )
    s.post(
        path,
        {**review, "spec": {"token": token, "audiences": ["somebody"]}},
        shown="the token, for somebody else",
        select=lambda b: b["status"],
    )
    other = token[:-4] + ("AAAA" if not token.endswith("AAAA") else "BBBB")
    s.get(CONFIG_MAPS, token=other)


def a_token_for_another_audience_is_rejected(s: Session):
    token = _account(s, audiences=["somebody"])
    s.get(CONFIG_MAPS, token=token)
    s.post(
        "/apis/authentication.k8s.io/v1/tokenreviews",
        {
            "apiVersion": AUTH,
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": ["nobody", "somebody"]},
        },
        shown="the token, for somebody",
        select=lambda b: _without_credential(b)["status"],
    )


def a_token_is_bound_to_an_object(s: Session):
    _account(s)
    s.eventually(f"{ACCOUNTS}/default", lambda answer: answer.is_success, record=False)
    with s.unrecorded():
        s.post(PODS, pod("a", spec=pod_spec(serviceAccountName="robot", nodeName="n1")))
        s.post(PODS, pod("b"))
        bound = _token(s, boundObjectRef={"apiVersion": "v1", "kind": "Pod", "name": "a"})
    s.post(SELF, {"apiVersion": AUTH, "kind": "SelfSubjectReview"}, token=bound, select=_without_credential)
    body = {"apiVersion": AUTH, "kind": "TokenRequest"}
    for reference in (
        {"kind": "Pod", "apiVersion": "v1", "name": "none"},
        {"kind": "Pod", "apiVersion": "v1", "name": "b"},
        {"kind": "Pod", "apiVersion": "v1", "name": "a", "uid": "1"},
        {"kind": "Job", "apiVersion": "batch/v1", "name": "a"},
        {"kind": "Secret", "apiVersion": "v1", "name": "none"},
    ):
        s.post(f"{ACCOUNTS}/robot/token", {**body, "spec": {"boundObjectRef": reference}})


def a_token_is_requested_for_an_existing_account(s: Session):
    _account(s)
    body = {"apiVersion": AUTH, "kind": "TokenRequest", "spec": {}}
    s.post(f"{ACCOUNTS}/none/token", body)
    s.post(f"{ACCOUNTS}/robot/token", body)
    s.post(f"{ACCOUNTS}/robot/token", {**body, "metadata": {"name": "other"}})
    s.post(f"{ACCOUNTS}/robot/token", {**body, "metadata": {"uid": "1"}})
    s.post(f"{ACCOUNTS}/robot/token", {**body, "spec": {"expirationSeconds": 2**32 + 1}})
    s.get(f"{ACCOUNTS}/robot/token")


def an_account_without_roles_may_do_little(s: Session):
    token = _account(s)
    s.get(CONFIG_MAPS, token=token)
    s.get(f"{CONFIG_MAPS}?watch=true&fieldSelector=metadata.name=a", token=token)
    s.get(f"{CONFIG_MAPS}/a", token=token)
    s.post(CONFIG_MAPS, config_map("a"), token=token)
    s.merge(f"{CONFIG_MAPS}/a", {}, token=token)
    s.put(f"{CONFIG_MAPS}/a", config_map("a"), token=token)
    s.delete(f"{CONFIG_MAPS}/a", token=token)
    s.delete(CONFIG_MAPS, token=token)
    s.get("/api/v1/configmaps", token=token)
    s.get("/api/v1/namespaces/{ns}", token=token)
    s.get("/api/v1/namespaces", token=token)
    s.get(f"{PODS}/a/log", token=token)
    s.post(f"{PODS}/a/binding", {}, token=token)
    s.get("/apis/batch/v1/namespaces/{ns}/jobs/a/status", token=token)
    s.get("/apis/nonsense.example.com/v1/namespaces/{ns}/things", token=token)
    s.get("/nonsense", token=token)
    s.post("/version", {}, token=token)
    s.get("/api/v1", token=token, select=lambda b: b["kind"])
    s.get("/version", token=token, select=lambda b: b["major"])


def an_account_may_do_what_its_roles_allow(s: Session):
    token = _account(s)
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
    _grant(
        s,
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["b"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["*"]},
    )
    names = {"select": lambda b: [b["kind"], b.get("message")], "token": token}
    s.get(f"{CONFIG_MAPS}/a", **names)
    s.get(CONFIG_MAPS, **names)
    s.get(f"{CONFIG_MAPS}?watch=true", **names)
    s.post(CONFIG_MAPS, config_map("other"), **names)
    s.delete(f"{CONFIG_MAPS}/a", **names)
    s.get("/api/v1/configmaps", **names)
    s.get("/api/v1/namespaces/default/configmaps", **names)
    s.get("/api/v1/namespaces/{ns}/secrets/a", **names)
    s.get("/api/v1/namespaces/{ns}/secrets/b", **names)
    s.get("/api/v1/namespaces/{ns}/secrets", **names)
    s.get("/api/v1/namespaces/{ns}/secrets?fieldSelector=metadata.name=b", **names)
    s.get(f"{PODS}/a", **names)
    s.get(f"{PODS}/a/log", **names)


def creating_by_update_needs_the_create_permission(s: Session):
    token = _account(s)
    _grant(
        s,
        {
            "apiGroups": ["", "coordination.k8s.io"],
            "resources": ["configmaps", "leases"],
            "verbs": ["patch", "update"],
        },
    )
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}}
    leases = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
    reported = {"token": token, "select": lambda b: b.get("message", b["kind"])}
    s.apply(f"{CONFIG_MAPS}/a", config_map("a"), **reported)
    s.merge(f"{CONFIG_MAPS}/a", {}, **reported)
    s.put(f"{CONFIG_MAPS}/a", config_map("a"), **reported)
    s.put(f"{leases}/a", lease, **reported)
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
    s.apply(f"{CONFIG_MAPS}/a", config_map("a"), **reported)
    s.put(f"{CONFIG_MAPS}/a", config_map("a"), **reported)


def the_reason_of_a_decision_is_reported(s: Session):
    _account(s)
    _grant(s, {"apiGroups": ["batch"], "resources": ["*/status"], "verbs": ["*"]})
    path, kind = (
        f"{REVIEWS}/subjectaccessreviews",
        {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"},
    )
    body = {
        "verb": "get",
        "group": "batch",
        "resource": "jobs",
        "subresource": "status",
        "namespace": "{ns}",
    }
    for attributes in (
        body,
        {**body, "subresource": ""},
        {**body, "namespace": ""},
        {**body, "group": "*"},
    ):
        s.post(
            path,
            {**kind, "spec": {"user": ACCOUNT, "resourceAttributes": attributes}},
            select=lambda b: b["status"],
        )
    for user, groups, url in (
        ("x", ["system:authenticated"], "/version"),
        ("x", ["system:unauthenticated"], "/livez"),
        ("x", ["system:unauthenticated"], "/api"),
        ("x", ["system:masters"], "/x"),
    ):
        about = {"user": user, "groups": groups, "nonResourceAttributes": {"verb": "get", "path": url}}
        s.post(
            path,
            {**kind, "spec": about},
            select=lambda b: {**b["status"], "reason": b["status"].get("reason", "")[:24]},
        )


def a_binding_of_a_missing_role_is_reported(s: Session):
    token = _account(s)
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "{ns}-none"}
    binding = {"apiVersion": API, "kind": "RoleBinding", "metadata": {"name": "a"}, "roleRef": ref}
    binding["subjects"] = [{"kind": "ServiceAccount", "name": "robot", "namespace": "{ns}"}]
    with s.unrecorded():
        s.post(BINDINGS, binding)
    _until(
        s, lambda status: status.get("reason"), {"verb": "get", "resource": "configmaps", "namespace": "{ns}"}
    )
    s.get(CONFIG_MAPS, token=token)
    s.post(
        f"{REVIEWS}/selfsubjectrulesreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": "{ns}"},
        },
        token=token,
        select=lambda b: b["status"].get("evaluationError"),
    )


def a_role_aggregates_others_by_their_labels(s: Session):
    """A controller fills it on a cluster; here it is filled when it is read."""
    s.get(f"{RBAC}/clusterroles/view", select=lambda b: b["aggregationRule"])
    s.get(f"{RBAC}/clusterroles/edit", select=lambda b: [b["aggregationRule"], b["metadata"]["labels"]])
    s.get(f"{RBAC}/clusterroles/cluster-admin", select=lambda b: [b["rules"], b["metadata"]["labels"]])
    s.get(f"{RBAC}/clusterrolebindings/cluster-admin", select=lambda b: [b["roleRef"], b["subjects"]])
    s.get(
        f"{RBAC}/clusterrolebindings/system:public-info-viewer",
        select=lambda b: [b["roleRef"], b["subjects"]],
    )


def a_user_may_impersonate_another(s: Session):
    me = {"apiVersion": AUTH, "kind": "SelfSubjectReview"}
    s.post(SELF, me, headers={"Impersonate-User": "jane"})
    s.post(
        SELF, me, headers={"Impersonate-User": "jane", "Impersonate-Group": "devs", "Impersonate-Uid": "7"}
    )
    s.post(SELF, me, headers={"Impersonate-User": "jane", "Impersonate-Extra-Team%2fcolour": "red"})
    s.post(SELF, me, headers={"Impersonate-User": ACCOUNT})
    s.post(SELF, me, headers={"Impersonate-User": ACCOUNT, "Impersonate-Group": "devs"})
    s.post(SELF, me, headers={"Impersonate-User": "system:anonymous"})
    s.post(SELF, me, headers={"Impersonate-User": "jane", "Impersonate-Group": "system:unauthenticated"})
    s.get(CONFIG_MAPS, headers={"Impersonate-User": "jane"})
    s.get(
        CONFIG_MAPS,
        headers={"Impersonate-User": "jane", "Impersonate-Group": "system:masters"},
        select=lambda b: b["kind"],
    )
    s.get(
        CONFIG_MAPS,
        headers={"Impersonate-Group": "devs"},
        select=lambda b: [b["code"], b["reason"], b["message"][-35:]],
    )


def an_account_may_not_impersonate_others(s: Session):
    token = _account(s)
    for headers in (
        {"Impersonate-User": "jane"},
        {"Impersonate-User": ACCOUNT},
    ):
        s.get(CONFIG_MAPS, headers=headers, token=token)
    _grant(s, {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]})
    s.get(CONFIG_MAPS, headers={"Impersonate-User": "system:serviceaccount:{ns}:default"}, token=token)
    s.get(CONFIG_MAPS, headers={"Impersonate-User": ACCOUNT, "Impersonate-Group": "devs"}, token=token)
    s.get(CONFIG_MAPS, headers={"Impersonate-User": ACCOUNT, "Impersonate-Uid": "7"}, token=token)
    s.get(CONFIG_MAPS, headers={"Impersonate-User": ACCOUNT, "Impersonate-Extra-Team": "red"}, token=token)


def permissions_of_an_impersonated_user_are_reviewed(s: Session):
    _account(s)
    _grant(s, {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]})
    headers = {"Impersonate-User": ACCOUNT}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    for verb in ("get", "delete"):
        body = {"verb": verb, "resource": "configmaps", "namespace": "{ns}"}
        s.post(
            f"{REVIEWS}/selfsubjectaccessreviews",
            {**review, "spec": {"resourceAttributes": body}},
            headers=headers,
        )
    s.post(
        f"{REVIEWS}/selfsubjectrulesreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": "{ns}"},
        },
        headers=headers,
        select=lambda b: [rule for rule in b["status"]["resourceRules"] if "configmaps" in rule["resources"]],
    )


def an_account_cannot_grant_more_than_it_has(s: Session):
    token = _account(s)
    _grant(
        s,
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["configmaps", "*/log"], "verbs": ["get", "list"]},
        {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": ["one"], "verbs": ["get"]},
    )
    role = {"apiVersion": API, "kind": "Role", "metadata": {"name": "b"}}
    reported = {"token": token, "select": lambda b: b.get("message", b["kind"])}
    for rules in (
        [{"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get", "list", "delete"]}],
        [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]}],
        [{"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": ["one", "two"], "verbs": ["get"]}],
        [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
        [{"apiGroups": [""], "resources": ["configmaps", "pods/log"], "verbs": ["get"]}],
    ):
        s.post(ROLES, {**role, "rules": rules}, **reported)
    more = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    s.merge(f"{ROLES}/b", {"rules": [more]}, **reported)
    s.merge(f"{ROLES}/b", {"rules": []}, **reported)
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {"apiVersion": API, "kind": "RoleBinding", "metadata": {"name": "b"}, "roleRef": ref}
    s.post(BINDINGS, binding, **reported)
    s.post(BINDINGS, {**binding, "roleRef": {**ref, "name": "{ns}-none"}}, **reported)
    s.post(BINDINGS, {**binding, "roleRef": {**ref, "kind": "Role", "name": "a"}}, **reported)
