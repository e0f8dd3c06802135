"""In which order the pods of a suspended job are stopped, deleted and recorded."""

from datetime import UTC, datetime

import pytest

from kubekit.cache.object_cache import Cache
from kubekit.controller.reconcile import Key, RequeueAfter
from kubekit.controller.urgent_work import UrgentWorkGate
from picokube.nodeagent.jobs.job_controller import JobController
from picokube.nodeagent.jobs.job_plan import TRACKING
from picokube.nodeagent.node import Slots
from support.virtual_time import run_virtual

NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)
WORK = Key("default", "work")


class Server:
    """Answers writes as an API server would, and keeps what was asked."""

    def __init__(self, calls, objects):
        self.calls = calls
        self.objects = {(item["kind"], item["metadata"]["name"]): item for item in objects}
        self.revision = 10

    async def patch(self, resource, name, namespace, body, *, kind, subresource=""):
        obj = self.objects[(resource.kind, name)]
        self.calls.append(f"release {name}")
        change = body["metadata"]
        return self._written(obj, finalizers=change["finalizers"], annotations=change["annotations"])

    async def delete(self, resource, name, namespace, *, uid, **options):
        self.calls.append(f"delete {name}")
        obj = self.objects[(resource.kind, name)]
        return self._written(obj, deletionTimestamp="2026-02-07T12:00:30Z", deletionGracePeriodSeconds=30)

    async def update(self, resource, obj, *, subresource=""):
        self.calls.append(f"status {obj['metadata']['name']}")
        return self._written(obj)

    def _written(self, obj, **meta):
        self.revision += 10
        new = {**obj, "metadata": {**obj["metadata"], **meta, "resourceVersion": str(self.revision)}}
        self.objects[(obj["kind"], obj["metadata"]["name"])] = new
        return {**new, "metadata": {**new["metadata"]}}


class Quiet:
    def record(self, *_, **__):
        """Events are another test's."""


def a_job():
    template = {"spec": {"restartPolicy": "Never", "containers": []}}
    spec = {"parallelism": 1, "completions": 1, "backoffLimit": 0, "suspend": True, "template": template}
    return _object("Job", "work", spec=spec, status={"active": 1, "startTime": "2026-02-07T11:00:00Z"})


def a_pod():
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "work", "uid": "uid-work", "controller": True}
    meta = {"finalizers": [TRACKING], "ownerReferences": [owner]}
    return _object("Pod", "pod", spec={"restartPolicy": "Never"}, status={"phase": "Running"}, **meta)


def _object(kind, name, *, spec, status, **meta):
    known = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "generation": 1,
    }
    stamp = {"creationTimestamp": "2026-02-07T11:00:00Z"}
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": known | stamp | meta,
        "spec": spec,
        "status": status,
    }


def _raise(error):
    raise error


def a_controller(calls, gate):
    job, pod = a_job(), a_pod()
    jobs, pods = Cache(report=_raise), Cache(report=_raise)
    server = Server(calls, [job, pod])
    jobs.record_write(dict(job))
    pods.record_write(dict(pod))
    stop = lambda pod: calls.append(f"TERM {pod['metadata']['name']}")  # noqa: E731
    slots = Slots("laptop", 10)

    def started():
        return JobController(server, jobs, pods, slots, Quiet(), stop=stop, gate=gate, now=lambda: NOON)

    return started, pods


@pytest.mark.rule("CAN-4")
def test_during_urgent_work_a_pod_is_stopped_first_and_deleted_later():
    """A hundred jobs may be suspended at once: a delete helps none of them to end."""

    async def story():
        calls, gate = [], UrgentWorkGate()
        started, _ = a_controller(calls, gate)
        controller = started()
        gate.begin()
        first = await controller.reconcile(WORK)
        urgent = list(calls)
        gate.end()
        await controller.reconcile(WORK)
        return first, urgent, calls[len(urgent) :]

    first, urgent, later = run_virtual(story())
    assert first == RequeueAfter(0.0)
    assert urgent == ["release pod", "TERM pod"]
    assert later == ["delete pod", "status work"]


@pytest.mark.rule("RUN-3")
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_pod_that_has_ended_until_then_is_deleted_all_the_same(is_killed):
    """As it would have been at once, and by the next agent after one that was killed in between."""

    async def story():
        calls, gate = [], UrgentWorkGate()
        started, pods = a_controller(calls, gate)
        controller = started()
        gate.begin()
        await controller.reconcile(WORK)
        (pod,) = pods.all()
        pods.record_write(
            {
                **pod.decode(),
                "metadata": {**pod.decode()["metadata"], "resourceVersion": "25"},
                "status": {"phase": "Failed"},
            }
        )
        gate.end()
        controller = started() if is_killed else controller
        await controller.reconcile(WORK)
        await controller.reconcile(WORK)
        return calls

    assert run_virtual(story()).count("delete pod") == 1


def test_without_urgent_work_all_is_done_in_one_pass():
    """The node agent alone has no other component to wait for."""

    async def story():
        calls = []
        started, _ = a_controller(calls, UrgentWorkGate())
        await started().reconcile(WORK)
        return calls

    assert run_virtual(story()) == ["release pod", "TERM pod", "delete pod", "status work"]
