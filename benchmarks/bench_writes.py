"""What each write of one step costs the embedded API server: CPU time, client and commit included, with no other load.

Run `python -m benchmarks.bench_writes [steps]`. The requests are those of a step on a laptop, one after another; the
run that they belong to has as many step statuses as there are steps.
"""

import asyncio
import contextlib
import json
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

import uvloop

from benchmarks.bench_engine_beds import AT_ONCE, NAMESPACE, RUNS, TOOL_RUNS, install
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.asgi_transport import AsgiTransport
from kubekit.client.builtin import PODS
from kubekit.client.resource import Resource
from picokube import ApiServerSettings, running
from picokube.apiserver.http.app import Application

JOBS = Resource("batch", "v1", "jobs", "Job", namespaced=True)
EVENTS = Resource("", "v1", "events", "Event", namespaced=True)
AT = "2026-11-16T21:14:26Z"
MICRO = "2026-11-16T21:14:26.805000Z"
TYPES = ("Ready", "Progressing", "Degraded", "Succeeded", "Failed", "Cancelled")
GOAL = 0.35

Json = dict[str, Any]


@dataclass
class Meter:
    """CPU milliseconds by kind of request."""

    spent: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    async def take(self, name: str, call: Awaitable[Json]) -> Json:
        before = time.process_time()
        found = await call
        self.spent[name].append((time.process_time() - before) * 1000)
        return found


@dataclass(frozen=True)
class Steps:
    """A client that writes what the steps of one run write."""

    client: Client
    meter: Meter
    total: int
    name: str = "run"

    async def run(self) -> None:
        run = await self.client.create(RUNS, _object(RUNS, self.name, {"orchestrationRef": {"name": "x"}}))
        run = await self._patch_status("first status of the run", RUNS, run, _first_run_status(self.total))
        for n in range(self.total):
            run = await self._step(run, n)

    async def _step(self, run: Json, n: int) -> Json:
        take, client = self.meter.take, self.client
        tool_run = await take("POST toolruns", client.create(TOOL_RUNS, _tool_run(run, n)))
        tool_run = await self._patch_status(
            "PATCH toolruns/status, first", TOOL_RUNS, tool_run, [_add("/status", _first_status())]
        )
        job = await take("POST jobs", client.create(JOBS, _job(tool_run)))
        await take("POST events", client.create(EVENTS, _event(job, "Created", n)))
        pod = await take("POST pods", client.create(PODS, _pod(job)))
        pod = await take(
            "PATCH pods/status",
            client.patch(PODS, *_place(pod), _pod_status(pod), kind=PatchKind.MERGE, subresource="status"),
        )
        job = await take(
            "PUT jobs/status", client.update(JOBS, {**job, "status": _JOB_STATUS}, subresource="status")
        )
        pod = await self._patch("PATCH pods", PODS, pod, [_remove("/metadata/finalizers/1")])
        tool_run = await self._patch_status("PATCH toolruns/status", TOOL_RUNS, tool_run, _ENDED)
        await take("POST events", client.create(EVENTS, _event(tool_run, "Succeeded", n)))
        pod = await self._patch("PATCH pods", PODS, pod, [_remove("/metadata/finalizers/0")])
        ttl = _add("/spec/ttlSecondsAfterFinished", 600)
        await self._patch("PATCH jobs", JOBS, job, [ttl, _remove("/metadata/finalizers/0")])
        run = await self._patch_status("PATCH orchestrationruns/status", RUNS, run, _step_ended(n))
        await take("POST events", client.create(EVENTS, _event(run, "StepSucceeded", n)))
        await take("GET orchestrationruns", client.get(RUNS, self.name, NAMESPACE))
        return run

    async def _patch(self, name: str, resource: Resource, obj: Json, operations: list[Json]) -> Json:
        body = [{"op": "test", "path": "/metadata/uid", "value": obj["metadata"]["uid"]}, *operations]
        return await self.meter.take(
            name, self.client.patch(resource, *_place(obj), body, kind=PatchKind.JSON)
        )

    async def _patch_status(self, name: str, resource: Resource, obj: Json, operations: list[Json]) -> Json:
        meta = obj["metadata"]
        body = [
            _replace("/metadata/uid", meta["uid"]),
            _replace("/metadata/resourceVersion", meta["resourceVersion"]),
            *operations,
        ]
        return await self.meter.take(
            name,
            self.client.patch(resource, *_place(obj), body, kind=PatchKind.JSON, subresource="status"),
        )


def _place(obj: Json) -> tuple[str, str]:
    return obj["metadata"]["name"], obj["metadata"]["namespace"]


def _add(path: str, value: Any) -> Json:
    return {"op": "add", "path": path, "value": value}


def _replace(path: str, value: Any) -> Json:
    return {"op": "replace", "path": path, "value": value}


def _remove(path: str) -> Json:
    return {"op": "remove", "path": path}


def _object(resource: Resource, name: str, spec: Json, **meta: Any) -> Json:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, **meta},
        "spec": spec,
    }


def _owned_by(obj: Json) -> list[Json]:
    meta = obj["metadata"]
    reference = {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
    }
    return [reference | {"controller": True, "blockOwnerDeletion": True}]


def _labels(uid: str) -> dict[str, str]:
    return {"app.kubernetes.io/managed-by": "jangar", "jangar.proompteng.ai/run-uid": uid}


def _tool_run(run: Json, n: int) -> Json:
    meta = {
        "labels": _labels(run["metadata"]["uid"]) | {"jangar.proompteng.ai/step": f"s{n}"},
        "finalizers": ["jangar.proompteng.ai/cleanup"],
        "ownerReferences": _owned_by(run),
    }
    name = f"{run['metadata']['name']}-s{n}-1-tcr75zhpwiligk4m"
    return _object(TOOL_RUNS, name, {"toolRef": {"name": "true"}}, **meta)


def _conditions() -> list[Json]:
    common = {"message": "", "lastTransitionTime": AT, "observedGeneration": 1}
    return [{"type": item, "status": "Unknown", "reason": "Pending", **common} for item in TYPES]


def _first_status() -> Json:
    return {
        "phase": "Pending",
        "reason": "Starting",
        "observedGeneration": 1,
        "updatedAt": MICRO,
        "conditions": _conditions(),
        "runId": "x",
        "runtimeRef": {"type": "job", "name": "x", "namespace": NAMESPACE},
        "job": {"name": "x", "attempt": 1},
    }


_ENDED = [
    _replace("/status/phase", "Succeeded"),
    _replace("/status/reason", "Succeeded"),
    _replace("/status/updatedAt", "2026-11-16T21:14:26.921000Z"),
    *(_replace(f"/status/conditions/{n}/status", "True") for n in (0, 1, 3)),
    *(_replace(f"/status/conditions/{n}/reason", "Succeeded") for n in (0, 1, 3)),
    _add("/status/job/observedAt", MICRO),
    _add("/status/startedAt", MICRO),
    _add("/status/finishedAt", MICRO),
    _add("/status/outcome", {"phase": "Succeeded", "reason": "Succeeded", "exitCode": 0, "startedAt": AT}),
    _add("/status/retention", {"jobTtlSeconds": 600, "jobExpiresAt": AT, "history": "Off"}),
]


def _first_run_status(total: int) -> list[Json]:
    steps = [
        {
            "name": f"s{n}",
            "kind": "ToolRun",
            "phase": "Pending",
            "reason": "Starting",
            "attempt": 1,
            "startedAt": MICRO,
            "attemptStartedAt": MICRO,
            "resourceRef": {
                "apiVersion": TOOL_RUNS.api_version,
                "kind": "ToolRun",
                "name": f"run-s{n}-1-tcr75zhpwiligk4m",
            },
        }
        for n in range(total)
    ]
    counts = dict.fromkeys(("pending", "running", "succeeded", "failed", "skipped", "cancelled"), 0)
    status = {
        "phase": "Running",
        "reason": "Running",
        "observedGeneration": 1,
        "updatedAt": MICRO,
        "conditions": _conditions(),
        "runId": "run",
        "startedAt": MICRO,
        "executionMode": "Graph",
        "counts": {"total": total, **counts},
        "steps": f"0/{total}",
        "stepStatuses": steps,
    }
    return [_add("/status", status)]


def _step_ended(n: int) -> list[Json]:
    step = f"/status/stepStatuses/{n}"
    return [
        _replace("/status/updatedAt", f"2026-11-16T21:14:26.{n:06}Z"),
        _replace("/status/counts/succeeded", n + 1),
        _replace("/status/steps", f"{n + 1}/x"),
        _replace(f"{step}/phase", "Succeeded"),
        _replace(f"{step}/reason", "Succeeded"),
        _add(f"{step}/finishedAt", MICRO),
        _add(f"{step}/lastTransitionTime", MICRO),
        _add(f"{step}/exitCode", 0),
    ]


def _container() -> Json:
    return {
        "name": "tool-runner",
        "image": "busybox",
        "command": ["true"],
        "env": [{"name": "HOME", "value": "/home"}, {"name": "JANGAR_RESULT_PATH", "value": "/dev/log"}],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }


def _pod_spec() -> Json:
    ids = {"runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532}
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}, **ids},
        "containers": [_container()],
    }


def _job(tool_run: Json) -> Json:
    meta = {
        "labels": dict(tool_run["metadata"]["labels"]),
        "finalizers": ["jangar.proompteng.ai/outcome"],
    }
    spec = {
        "backoffLimit": 0,
        "podReplacementPolicy": "Failed",
        "activeDeadlineSeconds": 604800,
        "template": {"metadata": meta, "spec": _pod_spec()},
    }
    name = f"{tool_run['metadata']['name']}-1-bgjc3k34oksvostb"
    return _object(JOBS, name, spec, ownerReferences=_owned_by(tool_run), **meta)


def _pod(job: Json) -> Json:
    template = job["spec"]["template"]
    meta = {
        "labels": template["metadata"]["labels"],
        "finalizers": ["jangar.proompteng.ai/outcome", "batch.kubernetes.io/job-tracking"],
        "ownerReferences": _owned_by(job),
    }
    return _object(
        PODS, f"{job['metadata']['name']}-t222r", {**template["spec"], "nodeName": "laptop"}, **meta
    )


def _pod_status(pod: Json) -> Json:
    meta = pod["metadata"]
    ran = {
        "exitCode": 0,
        "reason": "Completed",
        "startedAt": AT,
        "finishedAt": AT,
        "containerID": "process://x",
    }
    container = {
        "name": "tool-runner",
        "image": "busybox",
        "imageID": "",
        "restartCount": 0,
        "ready": False,
        "started": False,
        "state": {"terminated": ran},
        "lastState": {},
        "containerID": "process://x",
    }
    conditions = ("PodScheduled", "Initialized", "ContainersReady", "Ready", "ProcessMode")
    status = {
        "phase": "Succeeded",
        "qosClass": "BestEffort",
        "hostIP": "127.0.0.1",
        "podIP": "127.0.0.1",
        "podIPs": [{"ip": "127.0.0.1"}],
        "startTime": AT,
        "containerStatuses": [container],
        "conditions": [
            {"type": condition, "status": "True", "lastTransitionTime": AT} for condition in conditions
        ],
    }
    return {
        "metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]},
        "status": status,
    }


_JOB_STATUS = {
    "ready": 0,
    "terminating": 0,
    "startTime": AT,
    "succeeded": 1,
    "uncountedTerminatedPods": {},
    "completionTime": AT,
    "conditions": [
        {
            "type": item,
            "status": "True",
            "reason": "CompletionsReached",
            "message": "Reached expected number of succeeded pods",
            "lastProbeTime": AT,
            "lastTransitionTime": AT,
        }
        for item in ("SuccessCriteriaMet", "Complete")
    ],
}


def _event(obj: Json, reason: str, n: int) -> Json:
    meta = obj["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{meta['name']}.{reason.lower()}.{n}", "namespace": NAMESPACE},
        "involvedObject": {
            "apiVersion": obj["apiVersion"],
            "kind": obj["kind"],
            "namespace": NAMESPACE,
            "name": meta["name"],
            "uid": meta["uid"],
        },
        "type": "Normal",
        "reason": reason,
        "message": f"step {n}: {reason}",
        "count": 1,
        "firstTimestamp": AT,
        "lastTimestamp": AT,
        "source": {"component": "jangar-controllers"},
        "reportingComponent": "jangar-controllers",
        "reportingInstance": "laptop",
    }


async def measured(steps: int) -> tuple[Meter, float]:
    """Each kind of request alone, and CPU milliseconds a write while several runs are written at once."""
    directory = Path(tempfile.mkdtemp(prefix="jangar-bench-"))
    meter, busy = Meter(), Meter()
    try:
        async with running(ApiServerSettings(data_dir=directory, plain_http=True)) as server:
            application = Application(server.dispatcher, _raise)
            client = Client(AsgiTransport(application), manager="bench")
            await install(client)
            await Steps(client, meter, steps).run()
            before = time.process_time()
            of_a_run = steps // AT_ONCE
            await asyncio.gather(
                *(Steps(client, busy, of_a_run, name=f"busy-{n}").run() for n in range(AT_ONCE))
            )
            spent = (time.process_time() - before) * 1000
            application.end_streams()
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(directory)
    return meter, spent / sum(len(item) for name, item in busy.spent.items() if _is_write(name))


def _is_write(name: str) -> bool:
    return not name.startswith(("GET", "first"))


def _raise(error: Exception) -> None:
    raise error


def main() -> int:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        meter, at_once = runner.run(measured(steps))
    writes = {name: spent for name, spent in meter.spent.items() if _is_write(name)}
    for name, spent in meter.spent.items():
        print(f"{name:<34} {len(spent):>6}  median {median(spent):6.2f} ms  mean {mean(spent):6.2f} ms")
    of_a_step = sum(sum(spent) for spent in writes.values()) / steps
    average = mean(item for spent in writes.values() for item in spent)
    figures = {"step_ms": of_a_step, "write_ms": average, "at_once_write_ms": at_once, "goal_ms": GOAL}
    print(json.dumps({name: round(figure, 3) for name, figure in figures.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
