"""The last log lines of a run's failed steps, where the pod or the kept log still has them."""

from typing import TYPE_CHECKING, Final

from jangar.api.phases import StepPhase
from jangar.cli.following.log_text import line_text
from jangar.cli.following.show import tails_of
from jangar.cli.runs.step_logs import logs_of
from jangar.kinds.registry import step_adapter
from jangar.server.step_logs import source
from kubekit.client.errors import ApiError

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.cli.runs.reading import ReadRun
    from jangar.cli.target import Target

SHOWN_STEPS: Final = 3
SHOWN_LINES: Final = 10
READ_LINES: Final = 50
"""More than are shown: lines that say nothing to a person are left out."""


async def failed_tails(session: "Session", target: "Target", read: "ReadRun") -> dict[str, list[str]]:
    """By the name of the step. An extra: a log that cannot be read is left out."""
    failed = [
        source(read, state, state.name, None)
        for state in read.record.steps
        if state.phase is StepPhase.FAILED and state.child and step_adapter(state.kind).view.has_log
    ]
    try:
        logs = logs_of(session, tails_of(target))
        return {
            log.source.path: [text for line in log.lines if (text := line_text(line))][-SHOWN_LINES:]
            async for log in logs.read_all(failed[:SHOWN_STEPS], READ_LINES)
        }
    except ApiError:
        return {}
