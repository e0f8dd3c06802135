"""kubectl commands that users run on stored workloads: apply, prune, scale, autoscale, describe."""

import json

import pytest

from e2e.kubectl_command import in_own_namespace, on

pytestmark = pytest.mark.rule("RUN-2")

kubectl = on("embedded")
k = in_own_namespace()

TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "busybox", "ports": [{"containerPort": 80}]}]},
}


def a_deployment(name="web", **labels):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"part": "of-it", **labels}},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
    }


def a_map(name, **data):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"part": "of-it"}},
        "data": data,
    }


def test_apply_with_prune_deletes_what_is_no_longer_in_the_file(k):
    """D1: kubectl lists ReplicationControllers and autoscalers to prune."""
    k("apply -f - --prune -l part=of-it", [a_map("one", a="1"), a_map("two", a="1"), a_deployment()])
    reported = k("apply -f - --prune -l part=of-it", [a_map("one", a="2")])
    assert "configmap/two pruned" in reported
    assert "deployment.apps/web pruned" in reported
    assert k("get configmap,deployment -l part=of-it -o name").split() == ["configmap/one"]


def test_a_deployment_is_scaled_and_autoscaled(k):
    """D1: `kubectl scale`, `kubectl autoscale`, `kubectl get hpa`."""
    k("create -f -", a_deployment())
    assert "scaled" in k("scale deployment/web --replicas=3 --current-replicas=1")
    assert k("get deployment web -o jsonpath={.spec.replicas}") == "3"
    assert "Expected replicas to be 1" in k.refused("scale deployment/web --replicas=5 --current-replicas=1")
    assert "autoscaled" in k("autoscale deployment/web --min=2 --max=5 --cpu=70%")
    row = k("get hpa web --no-headers").split()
    assert row[1] == "Deployment/web"
    assert row[-4:-1] == ["2", "5", "0"]
    path = f"/apis/autoscaling/v1/namespaces/{k.namespace}/horizontalpodautoscalers/web"
    old = json.loads(k(f"get --raw {path}"))
    assert old["spec"]["targetCPUUtilizationPercentage"] == 70


def test_objects_are_explained_compared_and_described(k):
    """explain from both documents, diff, describe, label, annotate, patch, replace, wait, delete."""
    k("apply -f -", a_map("one", a="1"))
    assert "data" in k("explain configmap")
    assert "FIELDS" in k("explain deployment.spec.strategy --output=plaintext-openapiv2")
    compared = k.run("diff -f -", a_map("one", a="2"))
    assert compared.code == 1
    assert '+  a: "2"' in compared.out
    k("label configmap one tier=front")
    k("annotate configmap one note=here")
    k('patch configmap one -p \'{"data":{"b":"2"}}\'')
    described = k("describe configmap one")
    assert "tier=front" in described
    assert "note: here" in described
    k("replace -f -", a_map("one", c="3"))
    assert k.json("get configmap one")["data"] == {"c": "3"}
    k("delete configmap one --wait")
    assert "NotFound" in k.refused("get configmap one")


def test_permissions_are_granted_and_queried(k):
    """Roles, bindings, tokens, `auth can-i`; editors may use leases (D2)."""
    k("create serviceaccount robot")
    k(f"create rolebinding robot --clusterrole=edit --serviceaccount={k.namespace}:robot")
    robot = f"--as=system:serviceaccount:{k.namespace}:robot"
    assert k(f"auth can-i update leases.coordination.k8s.io {robot}").strip() == "yes"
    assert k(f"auth can-i list events.events.k8s.io {robot}").strip() == "yes"
    assert k.run(f"auth can-i create roles {robot}").out.strip() == "no"
    token = k("create token robot").strip()
    assert f"system:serviceaccount:{k.namespace}:robot" in k(f"--token={token} auth whoami")


def test_a_service_changes_its_type(k):
    """D5: fields that NodePort needed are removed."""
    k("create service nodeport web --tcp=80:80")
    k('patch service web -p \'{"spec":{"type":"ClusterIP"}}\'')
    spec = k.json("get service web")["spec"]
    assert "nodePort" not in spec["ports"][0]
    assert "externalTrafficPolicy" not in spec


def test_raw_health_and_openapi_requests_are_answered(kubectl):
    """D4: with `kubectl get --raw`, as administrators do."""
    assert "[+]ping ok" in kubectl("get --raw /readyz?verbose")
    assert "readyz check passed" in kubectl("get --raw /readyz?verbose")
    assert '"swagger":"2.0"' in kubectl("get --raw /openapi/v2")
    assert "customresourcedefinitions" in kubectl("api-resources")
    assert "autoscaling/v1" in kubectl("api-versions").split()
