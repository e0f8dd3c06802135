"""The job request of a child: what to run, read from its spec and from the objects that it references."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from jangar.api.lifecycle import Steerable
from jangar.api.phases import OnJobMissing
from jangar.domain.job_execution.command import Command
from jangar.domain.job_execution.facts import TemplateNames
from jangar.domain.job_execution.observation import Work
from jangar.domain.job_execution.record import AttemptLimits
from jangar.domain.job_execution.workflow import RuntimeStep
from kubekit.cache.object_cache import Cached


class JobRequestReader(Protocol):
    """Reads the job requests of one kind."""

    def __call__(self, child: Cached, /) -> "JobRequest": ...

    def size(self, child: Cached, /) -> int:
        """The size in bytes of the objects that the request is read from."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """What one child runs."""

    spec: Steerable
    work: Work
    template: TemplateNames
    workflow: tuple[RuntimeStep, ...] = ()
    """The workflow steps, if the work has more than one Job."""
    command: Command | None = None
    """What to start, if `work` is defined; in a workflow, the command of the current step."""
    on_job_missing: OnJobMissing | None = None
    timeout_seconds: int | None = None
    """The child's own time limit, which takes precedence over that of its definition."""
    has_runner: bool = False
    """Whether our runner runs the work: the result then includes its report."""
    attempt_limits: AttemptLimits | None = None
    """Limits that the definition sets for an attempt that starts now."""

    def time_limit(self, limits: AttemptLimits | None) -> timedelta | None:
        """The child's own time limit, or that of the limits under which the attempt started."""
        own = self.timeout_seconds
        seconds = own if own is not None else limits and limits.timeout_seconds
        return timedelta(seconds=seconds) if seconds else None
