"""kubectl as a service account, with impersonation, and access reviews for other users."""

import json

import pytest

from e2e.kubectl_command import in_own_namespace, on
from support.api_servers import wait_for

kubectl = on("embedded", "real", own_kinds=False)
k = in_own_namespace()


@pytest.fixture
def robot(k):
    """An account that may read config maps; its user name."""
    k("create serviceaccount robot")
    k("create role reader --verb=get,list --resource=configmaps")
    k(f"create rolebinding robot-reads --role=reader --serviceaccount={k.namespace}:robot")
    name = f"system:serviceaccount:{k.namespace}:robot"
    wait_for(
        lambda: k.run(f"auth can-i list configmaps --as={name}").out == "yes\n", what="that the role counts"
    )
    return name


def _as_robot(k, line, stdin=None):
    """With only the account's token."""
    token = k("create token robot").strip()
    config = json.loads(k("config view --raw -o json"))
    config["users"] = [{"name": config["contexts"][0]["context"]["user"], "user": {"token": token}}]
    path = k.home / "robot"
    path.write_text(json.dumps(config))
    return k.run(f"--kubeconfig={path} {line}", stdin)


def test_an_account_does_with_its_token_what_its_roles_allow(k, robot):
    assert _as_robot(k, "get configmaps -o name").out == "configmap/kube-root-ca.crt\n"
    assert robot in _as_robot(k, "auth whoami").out
    refused = _as_robot(k, "get secrets")
    assert refused.code == 1
    assert refused.err == (
        f'Error from server (Forbidden): secrets is forbidden: User "{robot}" cannot list resource "secrets" in API '
        f'group "" in the namespace "{k.namespace}"\n'
    )


def test_an_administrator_queries_the_permissions_of_others(k, robot):
    assert k(f"auth can-i list configmaps --as={robot}") == "yes\n"
    assert k.run(f"auth can-i delete configmaps --as={robot}").out == "no\n"
    assert "configmaps" in k(f"auth can-i --list --as={robot}")
    assert k.run("auth can-i create pods --as=jane").out == "no\n"
    assert k("auth can-i create pods --as=jane --as-group=system:masters") == "yes\n"


def test_an_administrator_impersonates_others(k, robot):
    assert k(f"get configmaps -o name --as={robot}") == "configmap/kube-root-ca.crt\n"
    assert "cannot list resource" in k.refused(f"get pods --as={robot}")
    assert "jane" in k("auth whoami --as=jane --as-group=devs --as-group=ops")
    assert "[devs ops system:authenticated]" in k("auth whoami --as=jane --as-group=devs --as-group=ops")


def test_default_roles_can_be_granted(k):
    k("create rolebinding jane-owns --clusterrole=cluster-admin --user=jane")
    wait_for(lambda: k.run("auth can-i delete jobs --as=jane").out == "yes\n", what="that the role counts")
    assert k.run("auth can-i delete jobs --as=jane --namespace=default").out == "no\n"
    assert k("create configmap mine --from-literal=a=1 --as=jane") == "configmap/mine created\n"


def test_a_token_has_a_lifetime_and_an_audience(k, robot):
    assert k("create token robot --duration=1h --audience=vault").count(".") == 2
    assert "may not specify a duration less than 10 minutes" in k.refused("create token robot --duration=1m")
    assert "not found" in k.refused("create token nobody")
