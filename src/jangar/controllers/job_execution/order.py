"""What a child wants done, as its kind reads it from its spec and from what it names. Decides nothing."""

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


class OrderReader(Protocol):
    """Reads what a child of one kind wants done."""

    def __call__(self, child: Cached, /) -> "JobRequest": ...

    def size(self, child: Cached, /) -> int:
        """Bytes of the objects that are read for it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """One child's work."""

    spec: Steerable
    work: Work
    template: TemplateNames
    course: tuple[RuntimeStep, ...] = ()
    """The stages of the work, where it is more than one Job."""
    command: Command | None = None
    """What to start; there is one where `work` is defined. Of a course it is that of the stage under way."""
    on_job_missing: OnJobMissing | None = None
    timeout_seconds: int | None = None
    """The child's own time limit; it wins over what it names."""
    reports: bool = False
    """Whether a runner of ours speaks for the work: its result has a member of the runner's own."""
    terms: AttemptLimits | None = None
    """What the definition that it names says now."""

    def time_limit(self, terms: AttemptLimits | None) -> timedelta | None:
        """Its own, or the definition's as it was when the attempt started."""
        own = self.timeout_seconds
        seconds = own if own is not None else terms and terms.timeout_seconds
        return timedelta(seconds=seconds) if seconds else None
