"""What a container is started with, fully rendered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from jangar.api.containers import Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretVariable:
    """A variable whose value is a key of a Secret; the value itself is never read here."""

    name: str
    secret: str
    key: str
    optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AppToken:
    """A short-lived token that is asked for just before the Job is created, with a key that the Secret holds."""

    url: str
    app_id: str
    secret: str
    key: str
    body: Mapping[str, object] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    """Under which names the container finds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A volume, and where it is mounted."""

    name: str
    path: str
    source: Mapping[str, Any]
    """As a pod's `volumes` says it, without the name."""
    read_only: bool = False
    sub_path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSettings:
    """Where a pod may be put, and what the node pulls its image with."""

    node_selector: Mapping[str, str] | None = None
    tolerations: Sequence[Any] = ()
    topology_spread: Sequence[Any] = ()
    affinity: Mapping[str, Any] | None = None
    image_pull_secrets: Sequence[str] = ()
    priority_class: str | None = None
    scheduler: str | None = None
    runtime_class: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is run, in which image, with what."""

    image: str
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str]
    working_dir: str | None = None
    service_account: str | None = None
    resources: Resources | None = None
    secret_env: tuple[SecretVariable, ...] = ()
    secrets: tuple[str, ...] = ()
    """Secrets whose keys all become variables."""
    mounts: tuple[Mount, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that the container finds, by their absolute path; they travel in a ConfigMap."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Further labels of the Job and its pod; ours win."""
    app_token: AppToken | None = None
    """A token to create for it; it is stored in a Secret of its own."""
    status_fields: Mapping[str, Any] = field(default_factory=dict)
    """Further status fields of the child, in addition to the Job; no secrets."""
    claim: str | None = None
    """A name that only one child may claim; a second one is refused."""
    pod: PodSettings = field(default_factory=PodSettings)
    grace: timedelta | None = None
    """Between SIGTERM and SIGKILL when the work is stopped; None is the cluster's default of 30 s."""
    is_first_process: bool = True
    """It must be PID 1 of its container, as the runner of agents is. Of other work the pod's own first process is,
    which makes SIGTERM end a program that sets no handler for it.
    """

    @property
    def has_credentials(self) -> bool:
        """Whether anything secret stands in the container."""
        return bool(
            self.secret_env
            or self.secrets
            or self.app_token
            or any("secret" in mount.source or "projected" in mount.source for mount in self.mounts)
        )
