"""Builds the pods of a Job: name, labels, owner reference and tracking finalizer. Pure."""

import hashlib
from collections.abc import Container, Iterator
from itertools import count
from typing import Any

import orjson

from picokube.nodeagent.jobs.indexes import INDEX
from picokube.nodeagent.jobs.job_state import TRACKING

Obj = dict[str, Any]

VARIABLE = "JOB_COMPLETION_INDEX"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_MAX_BASE_LENGTH = 63 - _SUFFIX_LENGTH - 1


def pod_names(job: Obj, used: Container[str], index: int | None = None) -> Iterator[str]:
    """Names for the next pods. They depend only on the state of the Job, so a repeated create can't add a pod."""
    status = job.get("status") or {}
    first = int(status.get("succeeded") or 0) + int(status.get("failed") or 0)
    ending = "" if index is None else f"-{index}"
    base = job["metadata"]["name"][: _MAX_BASE_LENGTH - len(ending)].rstrip("-.") + ending
    for number in count(first):
        name = f"{base}-{_suffix(job['metadata']['uid'] + ending, number)}"
        if name not in used:
            yield name


def build_pod(job: Obj, name: str, *, node: str = "", index: int | None = None) -> Obj:
    meta, template = job["metadata"], orjson.loads(orjson.dumps(job["spec"]["template"]))
    template_meta = template.get("metadata") or {}
    finalizers = [finalizer for finalizer in template_meta.get("finalizers") or () if finalizer != TRACKING]
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    pod: Obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "generateName": f"{meta['name']}-",
            "namespace": meta["namespace"],
            "labels": template_meta.get("labels") or {},
            "annotations": template_meta.get("annotations") or {},
            "finalizers": [*finalizers, TRACKING],
            "ownerReferences": [owner],
        },
        "spec": template["spec"],
    }
    if node and not pod["spec"].get("nodeName"):
        pod["spec"]["nodeName"] = node
    if index is not None:
        _set_index(pod, meta["name"], index)
    return pod


def _set_index(pod: Obj, job_name: str, index: int) -> None:
    """Set the completion index as annotation, label, host name and environment variable."""
    meta, spec = pod["metadata"], pod["spec"]
    meta["generateName"] = f"{job_name}-{index}-"
    for kind in ("annotations", "labels"):
        meta[kind] = {**meta[kind], INDEX: str(index)}
    spec.setdefault("hostname", f"{job_name}-{index}")
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    for container in [*(spec.get("initContainers") or ()), *spec["containers"]]:
        env = container.setdefault("env", [])
        if all(item["name"] != VARIABLE for item in env):
            env.append({"name": VARIABLE, "valueFrom": source})


def _suffix(uid: str, number: int) -> str:
    value = int.from_bytes(hashlib.sha256(f"{uid}/{number}".encode()).digest()[:8], "big")
    return "".join(_ALPHABET[value // len(_ALPHABET) ** n % len(_ALPHABET)] for n in range(_SUFFIX_LENGTH))
