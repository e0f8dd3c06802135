"""The Job of one attempt, as a manifest, and the ConfigMap with its files. Pure: the same command gives the same Job.

The Job neither retries nor expires by itself: attempts and retention are the controllers'. Pods run under the
`restricted` pod security standard whatever the command says, without a token of the API; only operators loosen it.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from posixpath import basename
from typing import Any

from jangar.domain.job_execution.cleanup import OUTCOME_FINALIZER
from jangar.domain.job_execution.command import Command, PodSettings, SecretVariable
from jangar.domain.job_execution.facts import TemplateNames

CONTAINER = "tool-runner"
AGENT_CONTAINER = "agent-runner"
TOOL_TEMPLATE = TemplateNames(containers=(CONTAINER,))
AGENT_TEMPLATE = TemplateNames(containers=(AGENT_CONTAINER,))
RESULT_PATH = "/dev/termination-log"
RESULT_VARIABLE = "JANGAR_RESULT_PATH"
"""Tells the program where to write its outputs."""
MASKED_FILES_VARIABLE = "JANGAR_SECRET_FILES"
"""Tells the runner where Secrets are mounted: what stands there it keeps out of everything that it reports."""
HOME = "/tmp"  # noqa: S108 - writable for every user in every image
USER = 65532
RESTRICTED: Mapping[str, Any] = {
    "runAsNonRoot": True,
    "runAsUser": USER,
    "runAsGroup": USER,
    "fsGroup": USER,
    "seccompProfile": {"type": "RuntimeDefault"},
}
MAX_RUN = timedelta(days=7)
"""Bounds work that has no time limit of its own."""
TOKEN_KEY = "token"  # noqa: S105 - a word, no password
FILES = "jangar-files"
"""Name of the volume that holds the command's files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What the controller decides about a Job, in addition to the command."""

    name: str
    namespace: str
    owner: Mapping[str, Any]
    """The controller reference to the child."""
    container: str = CONTAINER
    labels: Mapping[str, str] = field(default_factory=dict)
    deadline: timedelta = MAX_RUN
    """Kubernetes ends the Job after it, should we never come to it: the last resort."""
    service_account: str | None = None
    token_secret: str | None = None
    """The Secret that holds the token that was made for the command."""
    security_context: Mapping[str, Any] | None = None
    """The pod's, in place of the restricted one; operators say it, never a command."""
    max_grace: timedelta | None = None
    """Stopping has a bound (CAN-6): a longer grace period is cut to this."""
    share_processes: bool = False
    """Operators allow that the pod's own first process is PID 1, not the program."""


def job_manifest(command: Command, placement: Placement) -> dict[str, Any]:
    """The Job, ready to be created."""
    labels = {**command.labels, **placement.labels}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": placement.name,
            "namespace": placement.namespace,
            "labels": labels,
            "finalizers": [OUTCOME_FINALIZER],
            "ownerReferences": [dict(placement.owner)],
        },
        "spec": {
            "backoffLimit": 0,
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": int(placement.deadline.total_seconds()),
            "template": {
                "metadata": {"labels": labels, "finalizers": [OUTCOME_FINALIZER]},
                "spec": _pod(command, placement),
            },
        },
    }


def files_manifest(command: Command, placement: Placement) -> dict[str, Any] | None:
    """The ConfigMap that the Job mounts its files from; None if it has none."""
    if not command.files:
        return None
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": _files_name(command, placement),
            "namespace": placement.namespace,
            "labels": {**command.labels, **placement.labels},
            "ownerReferences": [dict(placement.owner)],
        },
        "immutable": True,
        "data": {basename(path): content for path, content in command.files.items()},
    }


def claim_manifest(command: Command, placement: Placement) -> dict[str, Any] | None:
    """The object whose name is the claim; None if there is none. It goes with its owner, and the claim with it."""
    if command.claim is None:
        return None
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": command.claim,
            "namespace": placement.namespace,
            "labels": dict(placement.labels),
            "ownerReferences": [dict(placement.owner)],
        },
        "immutable": True,
        "data": {"owner": str(placement.owner["name"])},
    }


def _files_name(command: Command, placement: Placement) -> str:
    """By content: an attempt that restarts after a change never mounts files of an earlier one."""
    digest = hashlib.sha256(json.dumps(dict(command.files), sort_keys=True).encode()).hexdigest()
    return f"{placement.name}-{digest[:10]}"


def _pod(command: Command, placement: Placement) -> dict[str, Any]:
    return _present(
        {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "serviceAccountName": command.service_account or placement.service_account,
            "terminationGracePeriodSeconds": _grace(command, placement),
            "shareProcessNamespace": True if _shares_processes(command, placement) else None,
            **_whereabouts(command.pod),
            "securityContext": dict(placement.security_context or RESTRICTED),
            "containers": [_container(command, placement)],
            "volumes": list(_volumes(command, placement)) or None,
        }
    )


def _grace(command: Command, placement: Placement) -> int | None:
    if command.grace is None:
        return None
    longest = command.grace if placement.max_grace is None else min(command.grace, placement.max_grace)
    return max(int(longest.total_seconds()), 0)


def _shares_processes(command: Command, placement: Placement) -> bool:
    """Only where there is nothing to see for another container: one of ours alone, without credentials. Never for
    agents, whose runner must be PID 1.
    """
    return placement.share_processes and not command.is_first_process and not command.has_credentials


def _whereabouts(pod: PodSettings) -> dict[str, Any]:
    return {
        "nodeSelector": dict(pod.node_selector) if pod.node_selector else None,
        "tolerations": list(pod.tolerations) or None,
        "topologySpreadConstraints": list(pod.topology_spread) or None,
        "affinity": dict(pod.affinity) if pod.affinity else None,
        "imagePullSecrets": [{"name": name} for name in pod.image_pull_secrets] or None,
        "priorityClassName": pod.priority_class,
        "schedulerName": pod.scheduler,
        "runtimeClassName": pod.runtime_class,
    }


def _container(command: Command, placement: Placement) -> dict[str, Any]:
    return _present(
        {
            "name": placement.container,
            "image": command.image,
            "command": list(command.command) or None,
            "args": list(command.args) or None,
            "workingDir": command.working_dir,
            "env": _variables(command, placement),
            "envFrom": [{"secretRef": {"name": name}} for name in command.secrets] or None,
            "resources": command.resources.model_dump(by_alias=True, exclude_none=True)
            if command.resources
            else None,
            "volumeMounts": list(_mounts(command)) or None,
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            },
        }
    )


def token_manifest(token: str, placement: Placement) -> dict[str, Any]:
    """The Secret of a token that was made for one Job. Every token has one of its own; it goes with its owner."""
    digest = hashlib.sha256(token.encode()).hexdigest()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"{placement.name}-{digest[:10]}",
            "namespace": placement.namespace,
            "labels": dict(placement.labels),
            "ownerReferences": [dict(placement.owner)],
        },
        "immutable": True,
        "stringData": {TOKEN_KEY: token},
    }


def _variables(command: Command, placement: Placement) -> list[dict[str, Any]]:
    ours = {"HOME": HOME, RESULT_VARIABLE: RESULT_PATH}
    if masked := ":".join(mount.path for mount in command.mounts if "secret" in mount.source):
        ours[MASKED_FILES_VARIABLE] = masked.replace("$", "$$")
    secret = {item.name: item for item in command.secret_env}
    if command.app_token is not None and placement.token_secret is not None:
        secret |= {
            name: SecretVariable(name=name, secret=placement.token_secret, key=TOKEN_KEY)
            for name in command.app_token.variables
        }
    plain = [
        {"name": name, "value": value}
        for name, value in (ours | dict(command.env)).items()
        if name not in secret
    ]
    referred = [
        {
            "name": item.name,
            "valueFrom": {
                "secretKeyRef": {
                    "name": item.secret,
                    "key": item.key,
                    **({"optional": True} if item.optional else {}),
                }
            },
        }
        for item in secret.values()
    ]
    return [*plain, *referred]


def _volumes(command: Command, placement: Placement) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for mount in command.mounts:
        if mount.name not in seen:
            seen.add(mount.name)
            yield {"name": mount.name, **mount.source}
    if command.files:
        yield {"name": FILES, "configMap": {"name": _files_name(command, placement)}}


def _mounts(command: Command) -> Iterator[dict[str, Any]]:
    for mount in command.mounts:
        yield _present(
            {
                "name": mount.name,
                "mountPath": mount.path,
                "readOnly": True if mount.read_only else None,
                "subPath": mount.sub_path,
            }
        )
    for path in command.files:
        yield {"name": FILES, "mountPath": path, "subPath": basename(path), "readOnly": True}


def _present(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None}
