"""kubectl over time: watches, waits, every cascade of a deletion, finalizers, namespaces."""

import json
import threading
import time

import pytest

from e2e.kubectl_command import ageless, ended, in_own_namespace, on
from support.api_servers import wait_for

kubectl = on("embedded", "real")
k = in_own_namespace()


def config_map(name, *, owner=None, **meta):
    if owner is not None:
        meta["ownerReferences"] = [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "blockOwnerDeletion": True,
            }
        ]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}}


def tool_run(name="greet"):
    return {
        "apiVersion": "tools.proompteng.ai/v1alpha1",
        "kind": "ToolRun",
        "metadata": {"name": name},
        "spec": {"toolRef": {"name": "greet"}},
    }


def set_status(k, **status):
    k(f"patch toolrun greet --subresource=status --type=merge -p '{json.dumps({'status': status})}'")


def lines_until(process, last, *, seconds=30.0):
    """The output of a command up to a line with this text."""
    lines, done = [], threading.Event()

    def read():
        for line in process.stdout:
            lines.append(line)
            if last in line:
                break
        done.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    assert done.wait(seconds), f"{last!r} was not printed within {seconds} s: {lines}"
    reader.join(5)
    return "".join(lines)


def test_a_watch_shows_existing_objects_and_changes(k):
    k("create -f -", tool_run())
    watching = k.start("get toolruns --watch --output-watch-events")
    try:
        first = lines_until(watching, "greet")
        set_status(k, phase="Running", reason="Started")
        second = lines_until(watching, "Started")
        k("delete toolrun greet")
        third = lines_until(watching, "DELETED")
    finally:
        ended(watching)
    assert ageless(first) == "EVENT NAME PHASE TOOL REASON FINISHED AGE\nADDED greet greet AGE"
    assert ageless(second) == "MODIFIED greet Running greet Started AGE"
    assert ageless(third) == "DELETED greet Running greet Started AGE"


def test_a_watch_with_a_label_selector(k):
    k("create configmap plain")
    watching = k.start("get configmaps -l show=me --watch-only --output-watch-events")
    try:
        time.sleep(0.5)  # the watch starts at an unknown time; earlier changes are not reported
        k("label configmap plain show=me")
        k("label configmap plain more=yes")
        k("label configmap plain show-")
        shown = lines_until(watching, "DELETED")
    finally:
        ended(watching)
    assert [line.split()[0] for line in shown.splitlines()] == ["EVENT", "ADDED", "MODIFIED", "DELETED"]


def test_wait_for_a_condition(k):
    k("create -f -", tool_run())
    waiting = k.start("wait toolrun greet --for=condition=Ready --timeout=30s")
    try:
        condition = {
            "type": "Ready",
            "status": "True",
            "reason": "Done",
            "message": "",
            "lastTransitionTime": "2026-02-07T12:00:00Z",
        }
        set_status(k, conditions=[condition])
        assert waiting.communicate(timeout=30)[0] == "toolrun.tools.proompteng.ai/greet condition met\n"
    finally:
        ended(waiting)
    assert (
        k("wait toolrun greet --for=condition=Ready") == "toolrun.tools.proompteng.ai/greet condition met\n"
    )


def test_wait_for_a_value(k):
    k("create -f -", tool_run())
    assert k.refused("wait toolrun greet --for=jsonpath='{.status.phase}'=Succeeded --timeout=200ms") == (
        "error: timed out waiting for the condition on toolruns/greet\n"
    )
    waiting = k.start("wait toolruns --all --for=jsonpath='{.status.phase}'=Succeeded --timeout=30s")
    try:
        set_status(k, phase="Running")
        set_status(k, phase="Succeeded")
        assert waiting.communicate(timeout=30)[0] == "toolrun.tools.proompteng.ai/greet condition met\n"
    finally:
        ended(waiting)


def test_wait_for_an_object_to_be_created_and_deleted(k):
    coming = k.start("wait configmap late --for=create --timeout=30s")
    try:
        k("create configmap late")
        assert coming.communicate(timeout=30)[0] == "configmap/late condition met\n"
    finally:
        ended(coming)
    going = k.start("wait configmap late --for=delete --timeout=30s")
    try:
        time.sleep(0.3)
        k("delete configmap late")
        assert going.communicate(timeout=30)[0] == "configmap/late condition met\n"
    finally:
        ended(going)
    assert k("wait configmap late --for=delete --timeout=5s") == ""


def test_delete_reports_what_it_did(k):
    k("create configmap plain")
    assert k("delete configmap plain --dry-run=server") == (
        f'configmap "plain" deleted from {k.namespace} namespace (server dry run)\n'
    )
    assert k("delete configmap plain") == f'configmap "plain" deleted from {k.namespace} namespace\n'
    assert k.refused("delete configmap plain") == (
        'Error from server (NotFound): configmaps "plain" not found\n'
    )
    assert k("delete configmap plain --ignore-not-found") == ""


def test_delete_by_all_or_by_selector(k):
    k("create -f -", [config_map(f"map-{n}", labels={"n": str(n)}) for n in range(4)])
    assert k("delete configmaps -l 'n in (1,2)'") == (
        f'configmap "map-1" deleted from {k.namespace} namespace\n'
        f'configmap "map-2" deleted from {k.namespace} namespace\n'
    )
    k("create -f -", [tool_run("one"), tool_run("two")])
    assert k("delete toolruns --all") == (
        f'toolrun.tools.proompteng.ai "one" deleted from {k.namespace} namespace\n'
        f'toolrun.tools.proompteng.ai "two" deleted from {k.namespace} namespace\n'
    )
    assert k("get configmaps -l n -o name") == "configmap/map-0\nconfigmap/map-3\n"


@pytest.fixture
def family(k):
    """A run, its child, and its grandchild."""
    k("create -f -", tool_run())
    k("create -f -", config_map("child", owner=k.json("get toolrun greet")))
    k("create -f -", config_map("grandchild", owner=k.json("get configmap child")))
    return k


def names(k):
    listed = k("get toolruns,configmaps -o name").split()
    return sorted(name.partition("/")[2] for name in listed if "kube-root-ca" not in name)


def test_background_deletion_removes_dependents(family):
    family("delete toolrun greet --cascade=background")
    wait_for(lambda: names(family) == [], what="the collection")


def test_foreground_deletion_ends_with_the_owner(family):
    family("delete toolrun greet --cascade=foreground")
    assert names(family) == []


def test_foreground_deletion_waits_for_its_dependents(family):
    family('patch configmap child --type=merge -p \'{"metadata":{"finalizers":["example.com/hold"]}}\'')
    family("delete toolrun greet --cascade=foreground --wait=false")
    wait_for(
        lambda: "deletionTimestamp" in family.json("get configmap child")["metadata"], what="the deletion"
    )
    owner = family.json("get toolrun greet")["metadata"]
    assert owner["finalizers"] == ["foregroundDeletion"]
    assert "deletionTimestamp" in owner
    family('patch configmap child --type=merge -p \'{"metadata":{"finalizers":null}}\'')
    wait_for(lambda: names(family) == [], what="the deletion of the owner and its dependents")


def test_orphaning_deletion_leaves_the_children_without_owner(family):
    family("delete toolrun greet --cascade=orphan")
    wait_for(lambda: names(family) == ["child", "grandchild"], what="the deletion of the owner")
    assert "ownerReferences" not in family.json("get configmap child")["metadata"]
    assert "ownerReferences" in family.json("get configmap grandchild")["metadata"]


def test_an_object_with_two_owners_stays_with_the_other(k):
    k("create -f -", [tool_run("first"), tool_run("second")])
    child = config_map("child", owner=k.json("get toolrun first"))
    other = config_map("child", owner=k.json("get toolrun second"))
    child["metadata"]["ownerReferences"] += other["metadata"]["ownerReferences"]
    k("create -f -", child)
    k("delete toolrun first")

    def owners():
        return [
            owner_reference["name"]
            for owner_reference in k.json("get configmap child")["metadata"]["ownerReferences"]
        ]

    wait_for(lambda: owners() == ["second"], what="the owner to be forgotten")
    k("delete toolrun second")
    wait_for(lambda: names(k) == [], what="the collection")


def test_an_object_with_a_nonexistent_owner_is_collected(k):
    no_one = tool_run("nobody") | {
        "metadata": {"name": "nobody", "uid": "00000000-0000-4000-8000-000000000000"}
    }
    k("create -f -", config_map("stray", owner=no_one))
    wait_for(lambda: names(k) == [], what="the collection")


def test_finalizers_keep_an_object_until_they_are_removed(k):
    k("create -f -", config_map("held", finalizers=["example.com/hold"]))
    assert k("delete configmap held --wait=false") == (
        f'configmap "held" deleted from {k.namespace} namespace\n'
    )
    held = k.json("get configmap held")["metadata"]
    assert held["finalizers"] == ["example.com/hold"]
    assert held["deletionGracePeriodSeconds"] == 0
    errors = k.refused(
        'patch configmap held --type=merge -p \'{"metadata":{"finalizers":["example.com/more"]}}\''
    )
    assert errors == (
        'The ConfigMap "held" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object '
        'is being deleted, found new finalizers []string{"example.com/more"}\n'
    )
    k('patch configmap held --type=json -p \'[{"op":"remove","path":"/metadata/finalizers"}]\'')
    assert names(k) == []


def test_a_pod_without_a_node_is_deleted_at_once(k):
    k("run once --image=busybox --restart=Never")
    assert k("delete pod once") == f'pod "once" deleted from {k.namespace} namespace\n'
    k("run twice --image=busybox --restart=Never")
    ran = k.run("delete pod twice --grace-period=0 --force")
    assert ran.out == f'pod "twice" force deleted from {k.namespace} namespace\n'
    assert "Immediate deletion does not wait" in ran.err


def test_a_namespace_is_deleted_with_its_objects(k):
    k("create configmap plain")
    k("create -f -", tool_run())
    k("run once --image=busybox --restart=Never")
    assert k(f"delete namespace {k.namespace}") == f'namespace "{k.namespace}" deleted\n'
    assert k.refused(f"get namespace {k.namespace}") == (
        f'Error from server (NotFound): namespaces "{k.namespace}" not found\n'
    )
    assert k("get toolruns,configmaps -o name") == ""


def test_a_terminating_namespace_accepts_nothing_new(k):
    k("create -f -", config_map("held", finalizers=["example.com/hold"]))
    k(f"delete namespace {k.namespace} --wait=false")
    assert k.json(f"get namespace {k.namespace}")["status"]["phase"] == "Terminating"
    assert k.refused("create configmap late") == (
        f'error: failed to create configmap: configmaps "late" is forbidden: unable to create new content in '
        f"namespace {k.namespace} because it is being terminated\n"
    )
    wait_for(lambda: "deletionTimestamp" in k.json("get configmap held")["metadata"], what="the deletion")
    k('patch configmap held --type=merge -p \'{"metadata":{"finalizers":null}}\'')
    assert k(f"wait namespace {k.namespace} --for=delete --timeout=30s") in (
        "",
        f"namespace/{k.namespace} condition met\n",
    )


def test_a_kind_is_deleted_with_its_objects(kubectl):
    group, plural = "life.example.com", "moths"
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": "Moth", "plural": plural},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                    },
                }
            ],
        },
    }
    kubectl("apply -f -", crd)
    kubectl(f"wait crd {plural}.{group} --for=condition=Established --timeout=30s")
    wait_for(lambda: kubectl.run("get moths").code == 0, what="the kind")
    kubectl(
        "create -f -", {"apiVersion": f"{group}/v1", "kind": "Moth", "metadata": {"name": "one"}, "wings": 4}
    )
    assert kubectl.json("get moth one")["wings"] == 4
    assert kubectl(f"delete crd {plural}.{group}") == (
        f'customresourcedefinition.apiextensions.k8s.io "{plural}.{group}" deleted\n'
    )
    wait_for(lambda: kubectl.run("get moths").code == 1, what="the end of the kind")
    kubectl("apply -f -", crd)
    kubectl(f"wait crd {plural}.{group} --for=condition=Established --timeout=30s")
    wait_for(lambda: kubectl.run("get moths").code == 0, what="the kind")
    assert kubectl("get moths -o name") == ""
