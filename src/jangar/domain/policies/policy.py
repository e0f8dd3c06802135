"""What operators decide about AgentRuns and ToolRuns, as values. Knows no run and no variable."""

from dataclasses import dataclass, field
from datetime import timedelta

from jangar.domain.policies.patterns import ImagePattern

PROVIDER_HOSTS = ("api.github.com",)
"""Hosts of version control that need no operator's leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Concurrency:
    """How many AgentRuns may be live at once: admitted and not ended."""

    namespace: int = 10
    agent: int = 5
    cluster: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """How many AgentRuns may have a place while they wait; 0 is unbounded."""

    namespace: int = 200
    repo: int = 50
    cluster: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many AgentRuns may be admitted within any window of time; 0 is unbounded."""

    window: timedelta = timedelta(seconds=60)
    namespace: int = 120
    repo: int = 30
    cluster: int = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Keys of labels; `allowed` and `denied` may have `*` for any text."""

    required: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """Images of containers; denied wins, an empty list of allowed ones allows all."""

    allowed: tuple[ImagePattern, ...] = ()
    denied: tuple[ImagePattern, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """What runs may ask of their pods; `*` in a name stands for any text."""

    service_accounts: tuple[str, ...] = ()
    """Empty allows all but the controllers' own."""
    own_service_accounts: frozenset[str] = frozenset()
    """Those of the controllers: no run ever has one of them."""
    own_namespace: str = ""
    """Where the controllers' accounts are; empty refuses their names everywhere."""
    priority_classes: tuple[str, ...] = ()
    """Empty allows all but those of the system."""
    tolerations: tuple[str, ...] = ()
    """Empty allows none."""
    node_selectors: tuple[str, ...] = ()
    """Empty allows none."""
    runtime_classes: tuple[str, ...] = ()
    """Empty allows none."""
    token_audiences: tuple[str, ...] = ()
    """Empty allows none; those of the API server are never allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPolicy:
    """Everything that decides about runs, besides their Agents and SecretBindings."""

    concurrency: Concurrency = field(default_factory=Concurrency)
    queue: Queue = field(default_factory=Queue)
    rate: Rate = field(default_factory=Rate)
    labels: Labels = field(default_factory=Labels)
    images: Images = field(default_factory=Images)
    pods: Pods = field(default_factory=Pods)
    provider_hosts: tuple[str, ...] = PROVIDER_HOSTS
    """Hosts that a sign-in may be sent to."""
    counts_tool_runs: bool = False
    """Whether the limits of concurrency, rate and queue hold for ToolRuns, too. Rules about what a run may use do."""
    blocked_secrets: frozenset[str] = frozenset()
    repositories: tuple[str, ...] = ()
    """`owner/name` or `owner/*`, in lower case; empty allows all."""
    default_image: str = ""
    default_service_account: str = "default"
