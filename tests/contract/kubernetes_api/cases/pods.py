"""Pods: defaults, validation, and mutable fields."""

from contract.kubernetes_api.objects import CONTAINER, PODS, pod, pod_spec
from contract.kubernetes_api.session import STRATEGIC, Session


def _account(s: Session) -> None:
    s.eventually(
        "/api/v1/namespaces/{ns}/serviceaccounts/default", lambda answer: answer.is_success, record=False
    )


def _refused(s: Session, **spec) -> None:
    s.post(f"{PODS}?dryRun=All", pod("a", spec=pod_spec(**spec)))


def _one(**container):
    return [{**CONTAINER, **container}]


def a_pod_is_filled_with_defaults(s: Session):
    _account(s)
    s.post(PODS, pod("a"))


def a_pod_gets_a_token_volume(s: Session):
    _account(s)
    s.post(PODS, pod("a", spec={"containers": [CONTAINER]}))


def a_richer_pod_is_filled_with_defaults(s: Session):
    _account(s)
    container = {
        "name": "main",
        "image": "busybox:latest",
        "ports": [{"containerPort": 80}],
        "env": [
            {"name": "A", "value": "1"},
            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "envFrom": [{"configMapRef": {"name": "c"}}],
        "livenessProbe": {"httpGet": {"port": 80}},
        "readinessProbe": {"exec": {"command": ["true"]}},
        "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    s.post(
        PODS,
        pod(
            "a",
            spec=pod_spec(
                containers=[container, {"name": "pinned", "image": "busybox:1.36"}],
                initContainers=[{"name": "first", "image": "busybox"}],
                volumes=[
                    {"name": "data", "emptyDir": {}},
                    {"name": "config", "configMap": {"name": "c"}},
                    {"name": "secret", "secret": {"secretName": "s"}},
                    {"name": "host", "hostPath": {"path": "/var/data"}},
                    {
                        "name": "all",
                        "projected": {
                            "sources": [{"configMap": {"name": "c"}}, {"serviceAccountToken": {"path": "t"}}]
                        },
                    },
                    {
                        "name": "down",
                        "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]},
                    },
                ],
                restartPolicy="OnFailure",
                activeDeadlineSeconds=30,
                securityContext={"runAsUser": 1000},
            ),
        ),
    )


def a_pod_needs_containers(s: Session):
    _account(s)
    s.post(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}})
    s.post(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})
    _refused(s, containers=[])


def containers_have_names_and_images(s: Session):
    _account(s)
    _refused(s, containers=[{"image": "x"}])
    _refused(s, containers=[{"name": "Bad_Name", "image": "x"}])
    _refused(s, containers=[{"name": "main"}])
    _refused(s, containers=[{"name": "main", "image": " x"}])
    _refused(s, containers=[CONTAINER, CONTAINER])
    _refused(s, containers=[CONTAINER], initContainers=[CONTAINER])


def environment_is_checked(s: Session):
    _account(s)
    _refused(s, containers=_one(env=[{"name": ""}]))
    _refused(s, containers=_one(env=[{"name": "with=equals", "value": "x"}]))
    _refused(
        s,
        containers=_one(
            env=[{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
        ),
    )
    _refused(
        s, containers=_one(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nonsense"}}}])
    )
    _refused(s, containers=_one(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}]))
    _refused(s, containers=_one(env=[{"name": "A", "valueFrom": {}}]))
    _refused(s, containers=_one(envFrom=[{}]))


def resources_are_checked(s: Session):
    _account(s)
    _refused(s, containers=_one(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}))
    _refused(s, containers=_one(resources={"requests": {"memory": "-1"}}))
    _refused(s, containers=_one(resources={"requests": {"nonsense": "1"}}))
    _refused(s, containers=_one(resources={"requests": {"cpu": "lots"}}))


def quantities_are_written_in_canonical_form(s: Session):
    _account(s)
    wants = {"cpu": "0.5", "memory": "1024Mi", "example.com/gpu": "1000m"}
    s.post(
        PODS,
        pod(
            "a", spec=pod_spec(containers=_one(resources={"requests": wants, "limits": {**wants, "cpu": 2}}))
        ),
    )


def volumes_are_checked(s: Session):
    _account(s)
    _refused(s, volumes=[{"name": "Bad_Name", "emptyDir": {}}])
    _refused(s, volumes=[{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}])
    _refused(s, volumes=[{"name": "a", "emptyDir": {}, "configMap": {"name": "x"}}])
    _refused(s, volumes=[{"name": "a", "configMap": {}}])
    _refused(s, volumes=[{"name": "a", "secret": {}}])
    _refused(s, containers=_one(volumeMounts=[{"name": "none", "mountPath": "/x"}]))
    _refused(s, containers=_one(volumeMounts=[{"name": "a"}]), volumes=[{"name": "a", "emptyDir": {}}])
    mounts = [{"name": "a", "mountPath": "/x"}, {"name": "a", "mountPath": "/x"}]
    _refused(s, containers=_one(volumeMounts=mounts), volumes=[{"name": "a", "emptyDir": {}}])


def a_volume_without_a_source_is_an_empty_dir(s: Session):
    _account(s)
    s.post(
        PODS,
        pod("a", spec=pod_spec(volumes=[{"name": "a"}])),
        select=lambda b: b.get("spec", b).get("volumes", b),
    )


def policies_and_times_are_checked(s: Session):
    _account(s)
    _refused(s, restartPolicy="Sometimes")
    _refused(s, dnsPolicy="Nothing")
    _refused(s, activeDeadlineSeconds=0)
    _refused(s, terminationGracePeriodSeconds=-1)
    _refused(s, containers=_one(imagePullPolicy="Maybe"))
    _refused(s, containers=_one(terminationMessagePolicy="Loud"))


def ports_and_probes_are_checked(s: Session):
    _account(s)
    _refused(s, containers=_one(ports=[{"containerPort": 0}]))
    _refused(s, containers=_one(ports=[{"containerPort": 70000}]))
    _refused(s, containers=_one(ports=[{"containerPort": 80, "name": "Bad Name"}]))
    _refused(s, containers=_one(livenessProbe={"httpGet": {"port": 0}}))
    _refused(s, containers=_one(livenessProbe={}))
    _refused(s, containers=_one(readinessProbe={"exec": {"command": []}}))


def accounts_and_priorities_must_exist(s: Session):
    _account(s)
    _refused(s, serviceAccountName="none")
    _refused(s, priorityClassName="none")


def a_known_priority_class_sets_the_priority(s: Session):
    _account(s)
    s.post(
        PODS,
        pod("a", spec=pod_spec(priorityClassName="system-node-critical")),
        select=lambda b: [b["spec"]["priority"], b["spec"]["preemptionPolicy"]],
    )


def most_of_a_pod_never_changes(s: Session):
    _account(s)
    with s.unrecorded():
        s.post(PODS, pod("a"))
    s.patch(f"{PODS}/a", {"spec": {"restartPolicy": "Never"}}, STRATEGIC, select=_without_diff)
    s.patch(
        f"{PODS}/a",
        {"spec": {"containers": [{"name": "main", "command": ["false"]}]}},
        STRATEGIC,
        select=_without_diff,
    )
    s.patch(
        f"{PODS}/a",
        {"spec": {"containers": [{"name": "more", "image": "x"}]}},
        STRATEGIC,
        select=_without_diff,
    )


def _without_diff(body):
    """The error prints a Go diff of the whole spec; its first line is the rule."""
    if body["kind"] != "Status":
        return body
    causes = [
        {**cause, "message": cause["message"].split("\n")[0]} for cause in body["details"].get("causes", [])
    ]
    return {
        **body,
        "message": body["message"].split("\n")[0],
        "details": {**body["details"], "causes": causes},
    }


def a_few_things_of_a_pod_change(s: Session):
    _account(s)
    with s.unrecorded():
        s.post(PODS, pod("a"))
    s.patch(f"{PODS}/a", {"spec": {"containers": [{"name": "main", "image": "other"}]}}, STRATEGIC)
    s.patch(f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 100}}, STRATEGIC)
    s.patch(f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 200}}, STRATEGIC, select=_without_diff)
    s.patch(f"{PODS}/a", {"spec": {"tolerations": [{"key": "x", "operator": "Exists"}]}}, STRATEGIC)
    s.merge(f"{PODS}/a", {"metadata": {"labels": {"x": "y"}, "finalizers": ["example.com/hold"]}})


def a_pod_can_be_bound_once(s: Session):
    _account(s)
    with s.unrecorded():
        s.post(PODS, pod("a"))
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": "n1"},
    }
    s.post(f"{PODS}/a/binding", binding)
    s.get(f"{PODS}/a")
    s.post(f"{PODS}/a/binding", binding)


def a_binding_is_checked(s: Session):
    _account(s)
    with s.unrecorded():
        s.post(PODS, pod("a"))
    node = {"kind": "Node", "name": "n1"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, "target": node}
    s.post(f"{PODS}/a/binding", {**binding, "metadata": {"name": "b"}})
    s.post(f"{PODS}/a/binding", {**binding, "target": {"kind": "Pod", "name": "n1"}})
    s.post(f"{PODS}/a/binding", {**binding, "target": {"kind": "Node"}})
    s.post(f"{PODS}/none/binding", {**binding, "metadata": {"name": "none"}})
    s.post(f"{PODS}/a/binding?dryRun=All", binding)
    s.post(
        f"{PODS}/a/binding", {**binding, "metadata": {"name": "a", "uid": "1"}}, select=lambda b: b["code"]
    )
    s.post(f"{PODS}/a/binding", {**binding, "metadata": {"name": "a", "annotations": {"by": "hand"}}})
    s.get(f"{PODS}/a", select=lambda b: [b["metadata"].get("annotations"), b["spec"]["nodeName"]])
    s.get(f"{PODS}/a/binding")


def a_pod_can_be_evicted(s: Session):
    _account(s)
    with s.unrecorded():
        s.post(PODS, pod("a"))
        s.post(PODS, pod("b", spec=pod_spec(nodeName="n1")))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    s.post(f"{PODS}/a/eviction", {**eviction, "metadata": {"name": "b"}})
    s.post(f"{PODS}/none/eviction", {**eviction, "metadata": {"name": "none"}})
    s.post(f"{PODS}/a/eviction?dryRun=All", eviction)
    s.post(f"{PODS}/a/eviction", {**eviction, "deleteOptions": {"preconditions": {"uid": "1"}}})
    s.post(f"{PODS}/a/eviction", eviction)
    s.get(f"{PODS}/a")
    s.post(
        f"{PODS}/b/eviction",
        {**eviction, "metadata": {"name": "b"}, "deleteOptions": {"gracePeriodSeconds": 5}},
    )
    s.get(
        f"{PODS}/b",
        select=lambda b: [b["metadata"].get("deletionGracePeriodSeconds"), b["status"].get("conditions")],
    )


def logs_of_a_pod_no_one_runs_cannot_be_read(s: Session):
    _account(s)
    with s.unrecorded():
        s.post(PODS, pod("a"))
    s.get(f"{PODS}/a/log")
    s.get(f"{PODS}/a/log?container=none")
    s.get(f"{PODS}/none/log")


def status_reports_container_ends(s: Session):
    _account(s)
    with s.unrecorded():
        s.post(PODS, pod("a"))
    state = {"name": "main", "image": "busybox", "imageID": "", "ready": False, "restartCount": 0}
    started = {
        **state,
        "started": True,
        "ready": True,
        "state": {"running": {"startedAt": "2024-01-01T00:00:00Z"}},
    }
    s.patch(
        f"{PODS}/a/status",
        {"status": {"phase": "Running", "startTime": "2024-01-01T00:00:00Z", "containerStatuses": [started]}},
        STRATEGIC,
    )
    ended = {
        **state,
        "state": {
            "terminated": {
                "exitCode": 0,
                "reason": "Completed",
                "message": "out",
                "startedAt": "2024-01-01T00:00:00Z",
                "finishedAt": "2024-01-01T00:00:05Z",
            }
        },
    }
    s.patch(f"{PODS}/a/status", {"status": {"phase": "Succeeded", "containerStatuses": [ended]}}, STRATEGIC)
    s.patch(f"{PODS}/a/status", {"status": {"phase": "Nonsense"}}, STRATEGIC)
