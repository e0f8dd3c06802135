"""Jobs, CronJobs and Pods with kubectl, on `jangar apiserver` and `jangar node-agent`."""

import json
import time

import pytest

from e2e.kubectl_command import in_own_namespace, on
from e2e.node_agent_process import AgentProcess
from support.api_servers import wait_for

kubectl = on("embedded", own_kinds=False)
k = in_own_namespace()


@pytest.fixture(scope="module", autouse=True)
def agent(kubectl):
    server = kubectl.server
    agent = AgentProcess(
        server.directory, server.directory / "data", server.kubeconfig, "--max-pods", "30"
    ).start()
    wait_for(lambda: kubectl.run("get nodes -o name").out.startswith("node/"), what="that the node exists")
    yield agent
    agent.stop()
    agent.end_containers()


def a_pod(name, *command, **rest):
    container = {"name": "main", "image": "ignored", "command": list(command), **rest.pop("container", {})}
    spec = {"restartPolicy": "Never", "containers": [container], **rest}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def a_job(name, script, *, template=None, **spec):
    container = {"name": "main", "image": "ignored", "command": ["sh", "-c", script]}
    pod = {"restartPolicy": "Never", "containers": [container], **(template or {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": pod}, **spec},
    }


def value(k, what, path):
    return k(f"get {what} -o jsonpath={{{path}}}")


def phase(k, pod):
    return value(k, f"pod {pod}", ".status.phase")


def over(k, pod):
    wait_for(lambda: phase(k, pod) in ("Succeeded", "Failed"), what=f"the end of {pod}")
    return k.json(f"get pod {pod}")


def condition(k, what, kind):
    conditions = k.json(f"get {what}")["status"].get("conditions") or []
    return next((item for item in conditions if item["type"] == kind and item["status"] == "True"), None)


def main_state(pod):
    """Empty until the node has reported the pod."""
    return (pod["status"].get("containerStatuses") or [{"state": {}}])[0]["state"]


def test_the_node_is_ready_and_without_taints(kubectl):
    node = kubectl.json("get nodes")["items"][0]
    assert "taints" not in node["spec"]
    assert "Ready" in kubectl("get nodes")
    assert node["status"]["capacity"]["pods"] == "30"


def test_a_job_runs_and_its_log_is_followed(k):
    """`kubectl create job`, `logs -f`, `wait`: as on a cluster."""
    k("create job hello --image=any -- sh -c 'echo one; sleep 0.3; echo two'")
    assert k("logs -f job/hello --pod-running-timeout=20s") == "one\ntwo\n"
    k("wait --for=condition=complete job/hello --timeout=20s")
    pod = k.json("get pods -l job-name=hello")["items"][0]
    assert pod["status"]["phase"] == "Succeeded"
    job = k.json("get job hello")
    assert pod["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] == job["metadata"]["uid"]
    wait_for(
        lambda: "finalizers" not in k.json("get pods -l job-name=hello")["items"][0]["metadata"],
        what="the release of the pod",
    )
    mode = next(item for item in pod["status"]["conditions"] if item["type"] == "ProcessMode")
    assert mode["reason"] in ("MountNamespace", "PathMapping")
    assert "images" in mode["message"]
    wait_for(lambda: "ImageIgnored" in k("get events"), what="the event")


def test_jobs_and_pods_have_the_events_of_a_cluster(k):
    """D4: as in `kubectl describe` and `kubectl events`; repeated events are one Event with a count."""
    k("apply -f -", a_job("fine", "exit 0"))
    k("apply -f -", a_job("broken", "exit 3", backoffLimit=0))
    k("apply -f -", a_pod("asked", "sh", "-c", "trap 'exit 0' TERM; sleep 60 & wait"))
    k("wait --for=condition=complete job/fine --timeout=30s")
    k("wait --for=condition=failed job/broken --timeout=30s")
    wait_for(lambda: phase(k, "asked") == "Running", what="the pod")
    k("delete pod asked")
    pod = k("get pods -l job-name=fine -o jsonpath={.items[0].metadata.name}")
    wanted = {
        ("Job", "fine", "SuccessfulCreate"), ("Job", "fine", "Completed"), ("Pod", pod, "Scheduled"),
        ("Pod", pod, "Started"), ("Job", "broken", "SuccessfulCreate"), ("Job", "broken", "BackoffLimitExceeded"),
        ("Pod", "asked", "Scheduled"), ("Pod", "asked", "Started"), ("Pod", "asked", "Killing"),
    }  # fmt: skip

    def reported():
        about = [(item["involvedObject"], item) for item in k.json("get events")["items"]]
        return {(obj["kind"], obj["name"], item["reason"]): item for obj, item in about}

    wait_for(lambda: wanted <= reported().keys(), what=f"the events {wanted - reported().keys()}")
    events = reported()
    assert events["Pod", "asked", "Killing"]["message"] == "Stopping container main"
    assert {events[item]["count"] for item in wanted} == {1}
    assert events["Job", "broken", "BackoffLimitExceeded"]["type"] == "Warning"
    assert f"Created pod: {pod}" in k("describe job fine")


def test_an_empty_directory_at_tmp_does_not_hide_what_a_pod_needs(k):
    """D3: the data directory is below /tmp here, and the chart's hooks mount a volume in the root, too."""
    k("create configmap words --from-literal=word=hello")
    mounts = [{"name": "tmp", "mountPath": "/tmp"}, {"name": "words", "mountPath": "/jangar-words"}]  # noqa: S108 - the mount path is the point
    volumes = [{"name": "tmp", "emptyDir": {}}, {"name": "words", "configMap": {"name": "words"}}]
    script = "cp /jangar-words/word /tmp/copy && cat /tmp/copy && ls /tmp"
    k(
        "create -f -",
        a_pod("mounted", "sh", "-c", script, container={"volumeMounts": mounts}, volumes=volumes),
    )
    pod = over(k, "mounted")
    mode = next(item for item in pod["status"]["conditions"] if item["type"] == "ProcessMode")
    if mode["reason"] == "MountNamespace":
        assert pod["status"]["phase"] == "Succeeded", pod["status"]
        assert k("logs mounted") == "hellocopy\n"


def test_a_pod_reaches_the_api_as_its_service_account(k):
    """D3: like the chart's hooks. The token is the pod's own; without automount there is none."""
    mount_path = "/var/run/secrets/kubernetes.io/serviceaccount"
    script = f"cat {mount_path}/namespace; echo; echo $KUBERNETES_SERVICE_HOST; cat {mount_path}/token"
    k("create -f -", a_pod("known", "sh", "-c", script))
    k("create -f -", a_pod("unknown", "sh", "-c", script, automountServiceAccountToken=False))
    known, unknown = over(k, "known"), over(k, "unknown")
    assert unknown["status"]["phase"] == "Failed"
    mode = next(item for item in known["status"]["conditions"] if item["type"] == "ProcessMode")
    if mode["reason"] == "PathMapping":
        assert known["status"]["phase"] == "Failed"
        return
    namespace, host, token = k("logs known").splitlines()
    assert (namespace, host) == (k.namespace, "127.0.0.1")
    who = k.json(f"--token={token} auth whoami")["status"]["userInfo"]
    assert who["username"] == f"system:serviceaccount:{k.namespace}:default"
    k("delete pod known")
    assert "Unauthorized" in k.run(f"--token={token} auth whoami").err


def test_a_pod_gets_its_variables_volumes_and_termination_message(k):
    k("create configmap c --from-literal=file=config --from-literal=who=world")
    k("create secret generic s --from-literal=pw=hunter2")
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    k(
        "create -f -",
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "p"}, "spec": claim},
    )
    script = (
        "cat /in/file /secret/pw /shared/init /one; echo $(HELLO) $POD; echo more >> /claim/f; cat /claim/f; "
        "echo last > /dev/termination-log; exit 4"
    )
    names = [{"name": "c", "mountPath": "/in", "readOnly": True}, {"name": "s", "mountPath": "/secret"}]
    names += [{"name": "e", "mountPath": "/shared"}, {"name": "p", "mountPath": "/claim"}]
    names += [{"name": "c", "mountPath": "/one", "subPath": "who"}]
    env = [
        {"name": "WHO", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "who"}}},
        {"name": "HELLO", "value": "hello-$(WHO)"},
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]
    volumes = [
        {"name": "c", "configMap": {"name": "c"}},
        {"name": "s", "secret": {"secretName": "s"}},
        {"name": "e", "emptyDir": {}},
        {"name": "p", "persistentVolumeClaim": {"claimName": "p"}},
    ]
    init = {
        "name": "init",
        "image": "i",
        "command": ["sh", "-c", "echo init > /shared/init"],
        "volumeMounts": [{"name": "e", "mountPath": "/shared"}],
    }
    for name, claimed in (("first", "more\n"), ("second", "more\nmore\n")):
        pod = a_pod(name, "sh", "-c", script, volumes=volumes, initContainers=[init])
        pod["spec"]["containers"][0] |= {"env": env, "volumeMounts": names}
        k("create -f -", pod)
        ended = main_state(over(k, name))["terminated"]
        assert (ended["exitCode"], ended["reason"], ended["message"]) == (4, "Error", "last\n")
        assert k(f"logs {name} -c main") == f"confighunter2init\nworldhello-world {name}\n{claimed}"


def test_deleting_a_pod_sends_sigterm_and_waits(k):
    """The program shuts down, and the pod is deleted when it has ended, long before its grace period expires."""
    k(
        "create -f -",
        a_pod("polite", "sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"),
    )
    wait_for(lambda: "up" in k.run("logs polite").out, what="its start")
    began = time.monotonic()
    k("delete pod polite")
    assert time.monotonic() - began < 10


def test_a_process_that_ignores_sigterm_is_killed_after_its_grace_period(k):
    pod = a_pod("stubborn", "sh", "-c", "trap '' TERM; echo up; sleep 100", terminationGracePeriodSeconds=1)
    pod["metadata"]["finalizers"] = ["example.com/hold"]
    k("create -f -", pod)
    wait_for(lambda: "up" in k.run("logs stubborn").out, what="its start")
    k("delete pod stubborn --wait=false")
    ended = over(k, "stubborn")
    assert (ended["status"]["phase"], main_state(ended)["terminated"]["exitCode"]) == ("Failed", 137)
    assert ended["metadata"]["finalizers"] == ["example.com/hold"]
    patch = json.dumps({"metadata": {"finalizers": None}})
    k(f"patch pod stubborn --type=merge -p '{patch}'")
    wait_for(lambda: k.run("get pod stubborn").code == 1, what="that it is gone")


@pytest.mark.rule("CAN-4")
def test_a_suspended_job_keeps_its_pod_while_a_finalizer_remains(k):
    """As on a cluster: the pod ends within its grace period, may have succeeded, and the job is neither complete nor
    failed.
    """
    job = a_job("paused", "trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done")
    job["spec"]["template"]["metadata"] = {"finalizers": ["example.com/hold"]}
    k("create -f -", job)
    wait_for(lambda: "up" in k.run("logs job/paused").out, what="its start")
    k('patch job paused --type=merge -p \'{"spec":{"suspend":true}}\'')
    k("wait --for=condition=suspended job/paused --timeout=20s")
    name = k("get pods -l job-name=paused -o name").strip()
    assert over(k, name.removeprefix("pod/"))["status"]["phase"] == "Succeeded"
    wait_for(
        lambda: k.json("get job paused")["status"].get("terminating") == 0, what="that none is terminating"
    )
    assert condition(k, "job paused", "Complete") is None
    k(f'patch {name} --type=merge -p \'{{"metadata":{{"finalizers":null}}}}\'')
    k('patch job paused --type=merge -p \'{"spec":{"suspend":false}}\'')
    wait_for(lambda: value(k, "job paused", ".status.active") == "1", what="a new pod")
    k("delete job paused")


def test_jobs_fail_with_the_reasons_of_a_cluster(k):
    k("create -f -", a_job("failing", "exit 7", backoffLimit=0))
    k(
        "create -f -",
        a_job("late", "sleep 100", activeDeadlineSeconds=1, template={"terminationGracePeriodSeconds": 1}),
    )
    k("wait --for=condition=failed job/failing --timeout=20s")
    assert condition(k, "job failing", "Failed")["reason"] == "BackoffLimitExceeded"
    assert main_state(k.json("get pods -l job-name=failing")["items"][0])["terminated"]["exitCode"] == 7
    k("wait --for=condition=failed job/late --timeout=20s")
    assert condition(k, "job late", "Failed")["reason"] == "DeadlineExceeded"
    assert k.json("get job late")["status"]["failed"] == 1


def test_a_job_with_many_completions_counts_them_all(k):
    k("create -f -", a_job("many", "sleep 0.05", completions=6, parallelism=3))
    k("wait --for=condition=complete job/many --timeout=30s")
    status = k.json("get job many")["status"]
    assert (status["succeeded"], status.get("failed", 0)) == (6, 0)
    assert len(k("get pods -l job-name=many -o name").split()) == 6


def test_an_indexed_job_runs_each_index(k):
    k(
        "create -f -",
        a_job(
            "parts", "echo part $JOB_COMPLETION_INDEX", completions=3, parallelism=2, completionMode="Indexed"
        ),
    )
    k("wait --for=condition=complete job/parts --timeout=30s")
    status = k.json("get job parts")["status"]
    assert (status["succeeded"], status["completedIndexes"]) == (3, "0-2")
    assert sorted(k("logs -l job-name=parts").splitlines()) == ["part 0", "part 1", "part 2"]


def test_a_finished_job_is_deleted_after_its_ttl(k):
    k("create -f -", a_job("brief", "true", ttlSecondsAfterFinished=1))
    k("wait --for=delete job/brief --timeout=20s")
    wait_for(lambda: k("get pods -l job-name=brief -o name") == "", what="that its pod is gone")


def test_a_cron_job_creates_jobs(k):
    job = a_job("x", "echo tick")["spec"]
    spec = {"schedule": "@every 1s", "jobTemplate": {"spec": job}, "successfulJobsHistoryLimit": 1}
    k(
        "create -f -",
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"}, "spec": spec},
    )
    wait_for(lambda: value(k, "cronjob tick", ".status.lastSuccessfulTime"), what="a job that succeeded")
    k("delete cronjob tick")
    wait_for(lambda: k("get jobs -o name") == "", what="that its jobs are gone")


def test_a_container_is_restarted_and_its_previous_log_is_kept(k):
    pod = a_pod(
        "again", "sh", "-c", "echo run $(cat n 2>/dev/null); echo x >> n; exit 1", restartPolicy="OnFailure"
    )
    k("create -f -", pod)
    wait_for(
        lambda: main_state(k.json("get pod again")).get("waiting", {}).get("reason") == "CrashLoopBackOff",
        what="the wait after the second end",
    )
    status = k.json("get pod again")["status"]["containerStatuses"][0]
    assert (status["restartCount"], status["lastState"]["terminated"]["exitCode"]) == (1, 1)
    assert k("logs again --previous") == "run\n"
    k("delete pod again")


def test_a_sidecar_runs_until_the_work_has_ended(k):
    side = {
        "name": "side",
        "image": "i",
        "restartPolicy": "Always",
        "command": ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.05; done"],
    }
    k("create -f -", a_pod("both", "sh", "-c", "sleep 0.3; exit 0", initContainers=[side]))
    pod = over(k, "both")
    assert pod["status"]["phase"] == "Succeeded"
    assert pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_unsupported_fields_are_rejected_by_name(k):
    """A privileged pod without a command: both are named, and nothing runs."""
    k("create -f -", a_pod("refused", container={"command": None, "securityContext": {"privileged": True}}))
    status = over(k, "refused")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "UnsupportedField")
    assert "spec.containers[0].command" in status["message"]
    assert "spec.containers[0].securityContext.privileged" in status["message"]


def test_a_missing_program_is_reported(k):
    k("create -f -", a_pod("nowhere", "no-such-program"))
    ended = main_state(over(k, "nowhere"))["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert ended["message"] == 'exec: "no-such-program": executable file not found in $PATH'


def test_a_pod_waits_for_a_missing_config_map(k):
    env = [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "later", "key": "x"}}}]
    k("create -f -", a_pod("waits", "sh", "-c", "echo $X", container={"env": env}))
    wait_for(
        lambda: (
            main_state(k.json("get pod waits"))["waiting"]["message"] == 'configmap "later" not found'
            if k.json("get pod waits")["status"].get("containerStatuses")
            else False
        ),
        what="that it is reported",
    )
    k("create configmap later --from-literal=x=here")
    over(k, "waits")
    assert k("logs waits") == "here\n"


def test_pods_beyond_the_limit_wait_and_report_why(k):
    """They are bound when capacity is available again."""
    k(
        "create -f -",
        a_job("crowd", "while [ ! -e /tmp/none ]; do sleep 0.2; done", completions=31, parallelism=31),
    )

    def unschedulable():
        pods = k.json("get pods -l job-name=crowd")["items"]
        reported = [
            item
            for pod in pods
            for item in pod["status"].get("conditions") or ()
            if item["status"] == "False"
        ]
        return [item["message"] for item in reported if item.get("reason") == "Unschedulable"]

    messages = wait_for(unschedulable, what="a pod that waits")
    assert "--max-pods" in messages[0]
    k('patch job crowd --type=merge -p \'{"spec":{"parallelism":30}}\'')
    k("delete job crowd --cascade=foreground --timeout=50s")


def test_a_namespace_is_deleted_with_everything_that_runs_in_it(k):
    """Jobs, their tracked pods and their processes; nothing blocks the deletion."""
    k("create -f -", a_job("long", "sleep 1000", template={"terminationGracePeriodSeconds": 1}))
    k("create -f -", a_pod("alone", "sleep", "1000"))
    wait_for(lambda: phase(k, "alone") == "Running", what="its start")
    k(f"delete namespace {k.namespace} --timeout=30s")


def test_a_job_with_a_finalizer_is_deleted_and_its_pod_continues(k):
    """As on a cluster: the owner of the finalizer must end the pod; once the Job is gone the pod's tracking finalizer
    is removed.
    """
    job = a_job("held", "echo up; sleep 1000", template={"terminationGracePeriodSeconds": 1})
    job["metadata"]["finalizers"] = ["example.com/hold"]
    k("create -f -", job)
    wait_for(lambda: "up" in k.run("logs job/held").out, what="its start")
    k("delete job held --wait=false")
    name = k("get pods -l job-name=held -o name").strip()
    wait_for(lambda: "finalizers" not in k.json(f"get {name}")["metadata"], what="the release of its pod")
    pod = k.json(f"get {name}")
    assert (pod["status"]["phase"], pod["metadata"].get("deletionTimestamp")) == ("Running", None)
    k('patch job held --type=merge -p \'{"metadata":{"finalizers":null}}\'')
    wait_for(lambda: k("get pods -l job-name=held -o name") == "", what="that its pod is gone with it")


def test_a_second_agent_and_a_foreign_directory_are_rejected(k, agent, tmp_path):
    """Two agents would delete each other's pods; so would one with the directory of another API."""
    data = k.server.directory / "data"
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "node-agent-of").write_text("another\n")
    for directory, words in (
        (data, "in use by another node agent"),
        (foreign, "a different Kubernetes API server"),
    ):
        other = AgentProcess(tmp_path, directory, k.server.kubeconfig).start()
        wait_for(lambda other=other: other.child.has_ended, what="its rejection")
        assert words in other.log
        assert "Traceback" not in other.log
    assert not agent.child.has_ended


def test_forced_deletion_ends_the_process(k, agent):
    k("create -f -", a_pod("forced", "sleep", "1000"))
    wait_for(lambda: phase(k, "forced") == "Running", what="its start")
    uid = value(k, "pod forced", ".metadata.uid")
    assert agent.container_processes()
    k("delete pod forced --grace-period=0 --force")
    journal = k.server.directory / "data" / "supervisor" / "journal"
    wait_for(
        lambda: any(uid in line and '"ended"' in line for line in journal.read_text().splitlines()),
        what="the end of its process",
    )
