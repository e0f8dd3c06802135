"""The Job of one attempt, as a manifest. Pure: the same command gives the same Job.

The Job neither retries nor expires by itself: attempts and retention are the controllers'. Pods run under the
`restricted` pod security standard whatever the tool says, without a token of the API.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from jangar.domain.toolrun.tool import Command
from jangar.domain.work.facts import TemplateNames
from jangar.domain.work.releasing import OUTCOME_FINALIZER

CONTAINER = "tool-runner"
TEMPLATE = TemplateNames(containers=(CONTAINER,))
RESULT_PATH = "/dev/termination-log"
RESULT_VARIABLE = "JANGAR_RESULT_PATH"
"""Tells the program where to write its outputs."""
HOME = "/tmp"  # noqa: S108 - writable for every user in every image
USER = 65532
MAX_RUN = timedelta(days=7)
"""Bounds work that has no time limit of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What the controller decides about a Job beside the command."""

    name: str
    namespace: str
    owner: Mapping[str, Any]
    """The controller reference to the child."""
    labels: Mapping[str, str] = field(default_factory=dict)
    deadline: timedelta = MAX_RUN
    """Kubernetes ends the Job after it, should we never come to it: the last resort."""
    service_account: str | None = None
    grace: timedelta | None = None


def job_manifest(command: Command, placement: Placement) -> dict[str, Any]:
    """The Job, ready to be created."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": placement.name,
            "namespace": placement.namespace,
            "labels": dict(placement.labels),
            "finalizers": [OUTCOME_FINALIZER],
            "ownerReferences": [dict(placement.owner)],
        },
        "spec": {
            "backoffLimit": 0,
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": int(placement.deadline.total_seconds()),
            "template": {
                "metadata": {"labels": dict(placement.labels), "finalizers": [OUTCOME_FINALIZER]},
                "spec": _pod(command, placement),
            },
        },
    }


def _pod(command: Command, placement: Placement) -> dict[str, Any]:
    return _present(
        {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "serviceAccountName": command.service_account or placement.service_account,
            "terminationGracePeriodSeconds": None
            if placement.grace is None
            else int(placement.grace.total_seconds()),
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [_container(command)],
        }
    )


def _container(command: Command) -> dict[str, Any]:
    ours = {"HOME": HOME, RESULT_VARIABLE: RESULT_PATH}
    return _present(
        {
            "name": CONTAINER,
            "image": command.image,
            "command": list(command.command) or None,
            "args": list(command.args) or None,
            "workingDir": command.working_dir,
            "env": [{"name": name, "value": value} for name, value in (ours | dict(command.env)).items()],
            "resources": command.resources.model_dump(by_alias=True, exclude_none=True)
            if command.resources
            else None,
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            },
        }
    )


def _present(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None}
