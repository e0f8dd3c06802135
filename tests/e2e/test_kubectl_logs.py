"""kubectl logs of pods without a node agent: the log files are written as a container runtime writes them."""

import json
import time

import pytest

from e2e.kubectl_command import ended, in_own_namespace, on
from picokube.apiserver.handlers.pods import log_path

kubectl = on("embedded", own_kinds=False)
k = in_own_namespace()

FIRST, SECOND, THIRD = (f"2026-02-07T12:00:0{n}.123456789Z" for n in range(3))


class Logs:
    """The container runtime of one pod."""

    def __init__(self, k, pod):
        self._k, self._pod = k, pod["metadata"]["name"]
        self._directory = k.server.directory / "data" / "pod-logs"
        self._uid = pod["metadata"]["uid"]

    def write(self, container, *lines, previous=False):
        path = log_path(self._directory, self._uid, container, previous=previous)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def set_state(self, **states):
        statuses = [
            {
                "name": name,
                "state": {state: {}},
                "image": "busybox",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
            }
            for name, state in states.items()
        ]
        for item in statuses:
            if "terminated" in item["state"]:
                item["state"]["terminated"] = {"exitCode": 0}
        status = {"status": {"phase": "Running", "containerStatuses": statuses}}
        self._k(f"patch pod {self._pod} --subresource=status --type=merge -p '{json.dumps(status)}'")


@pytest.fixture
def logs(k):
    k("run once --image=busybox --restart=Never")
    return Logs(k, k.json("get pod once"))


def test_logs_return_what_was_written(k, logs):
    logs.write("once", f"{FIRST} stdout F one", f"{SECOND} stderr F two")
    logs.set_state(once="running")
    assert k("logs once") == "one\ntwo\n"
    assert k("logs pod/once -c once") == "one\ntwo\n"
    assert k("logs once --tail=1") == "two\n"
    assert k("logs once --limit-bytes=5") == "one\nt"
    assert k("logs once --timestamps") == f"{FIRST} one\n{SECOND} two\n"
    assert k("logs once --since-time=2026-02-07T12:00:01Z") == "two\n"


def test_partial_lines_are_joined(k, logs):
    logs.write("once", f"{FIRST} stdout P half ", f"{SECOND} stdout F a line")
    logs.set_state(once="running")
    assert k("logs once") == "half a line\n"


def test_logs_of_a_container_that_has_not_started_are_rejected(k, logs):
    assert k("logs once") == "", "it is not scheduled yet"
    k("""run placed --image=busybox --restart=Never --overrides='{"spec":{"nodeName":"n1"}}'""")
    assert k.refused("logs placed") == (
        'Error from server (BadRequest): container "placed" in pod "placed" is waiting to start: ContainerCreating\n'
    )
    assert k.refused("logs nobody") == (
        f'error: error from server (NotFound): pods "nobody" not found in namespace "{k.namespace}"\n'
    )


def test_logs_of_the_previous_container(k, logs):
    logs.write("once", f"{FIRST} stdout F before", previous=True)
    logs.write("once", f"{SECOND} stdout F now")
    logs.set_state(once="running")
    assert k("logs once --previous") == "before\n"
    assert k("logs once") == "now\n"


def test_logs_of_several_containers(k):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pair", "labels": {"app": "pair"}},
        "spec": {"containers": [{"name": "a", "image": "busybox"}, {"name": "b", "image": "busybox"}]},
    }
    k("create -f -", pod)
    logs = Logs(k, k.json("get pod pair"))
    logs.write("a", f"{FIRST} stdout F from a")
    logs.write("b", f"{FIRST} stdout F from b")
    logs.set_state(a="running", b="running")
    assert k("logs pair -c b") == "from b\n"
    assert sorted(k("logs pair --all-containers").split("\n")) == ["", "from a", "from b"]
    assert k("logs -l app=pair --prefix -c a") == "[pod/pair/a] from a\n"
    # Without a name kubectl uses the first container and says so.
    ran = k.run("logs pair")
    assert (ran.out, ran.err) == ("from a\n", 'Defaulted container "a" out of: a, b\n')


def test_the_logs_of_a_job_are_followed_to_their_end(k):
    k("create job work --image=busybox -- echo hi")
    job = k.json("get job work")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "work-abcde", "labels": job["spec"]["template"]["metadata"]["labels"]},
        "spec": job["spec"]["template"]["spec"],
    }
    k("create -f -", pod)
    logs = Logs(k, k.json("get pod work-abcde"))
    logs.write("work", f"{FIRST} stdout F one")
    logs.set_state(work="running")
    following = k.start("logs -f job/work")
    try:
        assert following.stdout.readline() == "one\n"
        logs.write("work", f"{SECOND} stdout F two")
        assert following.stdout.readline() == "two\n"
        logs.write("work", f"{THIRD} stdout F three")
        logs.set_state(work="terminated")
        assert following.communicate(timeout=30)[0] == "three\n"
        assert following.returncode == 0
    finally:
        ended(following)


def test_following_ends_when_the_pod_is_deleted(k, logs):
    logs.write("once", f"{FIRST} stdout F one")
    logs.set_state(once="running")
    following = k.start("logs -f once")
    try:
        assert following.stdout.readline() == "one\n"
        k("delete pod once --grace-period=0 --force")
        began = time.monotonic()
        assert following.communicate(timeout=30)[0] == ""
        assert time.monotonic() - began < 5
    finally:
        ended(following)
