"""Formats one run for `jangar describe` and `jangar explain`: steps, inputs, outputs, events and last log lines."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from jangar.api.phases import Phase, StepPhase
from jangar.cli.following.follow import tails_of
from jangar.cli.following.log_text import line_text
from jangar.cli.output.spans import age, span
from jangar.cli.output.table import field_lines, padded, shorten, table, value_line, wrap
from jangar.cli.terminal import folded, printable
from jangar.domain.conditions import Condition
from jangar.domain.orchestration.explain import Explanation
from jangar.domain.views.run_detail import RunDetail, run_detail
from jangar.domain.views.run_row import RunRow, run_row
from jangar.kinds.registry import step_adapter
from jangar.operations import run_documents
from jangar.operations.run_reading import ReadRun, StepData, step_data
from jangar.operations.step_logs import log_source
from kubekit.client.errors import ApiError
from kubekit.times import parse_rfc3339, rfc3339

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.cli.target import Target

STEP_HEADS: Final = ("Step", "Phase", "Attempt", "Duration", "Why")
STEP_OPTIONAL: Final = ("Attempt", "Duration")
SHOWN_EVENTS: Final = 15
MIN_NAME: Final = 12
MIN_SENTENCE: Final = 30
MAX_FAILED_LOGS: Final = 3
MAX_LOG_LINES: Final = 10
READ_LOG_LINES: Final = 50
"""More than are shown, because lines without text for people are omitted."""


def description_lines(
    read: ReadRun,
    events: Sequence[Mapping[str, Any]],
    now: datetime,
    *,
    width: int | None,
    color: bool,
    tails: Mapping[str, Sequence[str]],
) -> list[str]:
    """The run with its steps, conditions and events; `tails` are the last log lines by step."""
    detail = run_detail(read.identity, read.view, now=now) if read.view else None
    row = detail.row if detail else run_row(read.identity, read.record, now=now)
    lines = field_lines(_head(read, row, now), width=width)
    if detail is not None:
        lines += _step_lines(detail, step_data(read), width=width, color=color)
    for step, last in tails.items():
        if last:
            lines += ["", f"Last log lines of {step}:", *(f"  | {line}" for line in last)]
    lines += _condition_lines(read.record.lifecycle.conditions, width=width)
    return lines + _event_lines(events, now, width=width)


def description_document(
    read: ReadRun,
    events: Sequence[Mapping[str, Any]],
    now: datetime,
    tails: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """The same for scripts: the HTTP API's document of the run, with inputs of its steps and its events."""
    document = run_documents.detail(read, now=now)
    inputs = {item.step: dict(item.inputs) for item in step_data(read)}
    steps = [
        {
            **step,
            "inputs": inputs.get(step["name"], {}),
            **({"lastLogLines": list(tails[step["name"]])} if tails.get(step["name"]) else {}),
        }
        for step in document["steps"]
    ]
    meta = {name: read.obj["metadata"][name] for name in ("namespace", "name", "uid")}
    shown_events = [run_documents.event_document(event) for event in sorted(events, key=_last_seen)]
    return {
        "apiVersion": read.obj["apiVersion"],
        "kind": read.obj["kind"],
        "metadata": meta,
        **document,
        "steps": steps,
        "events": shown_events,
    }


def _head(read: ReadRun, row: RunRow, now: datetime) -> dict[str, str]:
    spec, status = read.obj.get("spec") or {}, read.obj.get("status") or {}
    return {
        "Name": row.name,
        "Namespace": row.namespace,
        "Orchestration": row.orchestration or "(inline)",
        "Phase": f"{row.phase}" + (f" ({row.reason})" if row.reason not in {"", str(row.phase)} else ""),
        "Message": row.message,
        "Steps": status.get("steps") or row.steps,
        "Retry of": (spec.get("retryOf") or {}).get("name", ""),
        "Suspended": "yes (jangar resume resumes it)" if spec.get("suspend") else "",
        "Created": f"{rfc3339(row.created_at)} ({age(row.created_at, now)} ago)",
        "Started": rfc3339(row.started_at) if row.started_at else "",
        "Finished": rfc3339(row.finished_at) if row.finished_at else "",
        "Duration": span(row.duration) if row.duration is not None else "",
        "Parameters": ", ".join(
            value_line("", key, str(value), width=None)
            for key, value in (spec.get("parameters") or {}).items()
        ),
    }


def _step_lines(detail: RunDetail, data: Sequence[StepData], *, width: int | None, color: bool) -> list[str]:
    rows = [
        (
            step.name,
            str(step.phase),
            str(step.attempt) if step.attempt else "-",
            span(step.duration),
            step.sentence,
        )
        for step in detail.steps
    ]
    lines = ["", *table(STEP_HEADS, rows, width=width, color=color, wrapped=True, optional=STEP_OPTIONAL)]
    lines += data_lines(data, width=width)
    if detail.outputs:
        lines += ["", "Outputs:"]
        lines += [value_line("  ", name, value, width=width) for name, value in detail.outputs.items()]
    if detail.left_behind:
        lines += ["", "Left behind (may still be running; cleanup continues):"]
        lines += [f"  {item.kind} {item.name}" for item in detail.left_behind if item.ended_at is None]
    return lines


def _condition_lines(conditions: Sequence[Condition], *, width: int | None) -> list[str]:
    if not conditions:
        return []
    rows = [
        (condition.type, str(condition.status), condition.reason or "", condition.message or "")
        for condition in conditions
    ]
    return ["", *table(("Condition", "Status", "Reason", "Message"), rows, width=width, wrapped=True)]


def _event_lines(events: Sequence[Mapping[str, Any]], now: datetime, *, width: int | None) -> list[str]:
    if not events:
        return []
    latest = sorted(events, key=_last_seen)[-SHOWN_EVENTS:]
    rows = [
        (_age(item, now), item.get("type") or "", item.get("reason") or "", item.get("message") or "")
        for item in latest
    ]
    return ["", *table(("Age", "Type", "Event", "Message"), rows, width=width, wrapped=True)]


def _last_seen(event: Mapping[str, Any]) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"])


def _age(event: Mapping[str, Any], now: datetime) -> str:
    return age(parse_rfc3339(_last_seen(event)), now)


def explanation_lines(read: ReadRun, explanations: Sequence[Explanation], *, width: int | None) -> list[str]:
    """The run, then a sentence for each step, with the inputs and outputs of the step."""
    lifecycle = read.record.lifecycle
    phase = lifecycle.phase or Phase.PENDING
    why = f": {lifecycle.message}" if lifecycle.message else ""
    reason = f" ({lifecycle.reason})" if lifecycle.reason and lifecycle.reason != str(phase) else ""
    head = printable(f"{read.identity.name} is {phase}{reason}{why}")
    lines = folded(head, width) if width else [head]
    data = {item.step: item for item in step_data(read)}
    longest = max((len(item.step) for item in explanations), default=0)
    names = longest if width is None else min(longest, max(width // 3, MIN_NAME))
    indent = " " * (names + 4)
    for item in explanations:
        sentence = printable(_sentence(item))
        first, *further = wrap(sentence, max(width - len(indent), MIN_SENTENCE)) if width else [sentence]
        lines.append(f"  {padded(shorten(item.step, names), names)}  {first}")
        lines += [f"{indent}{line}" for line in further]
        if item.step in data:
            lines += one_step_lines(data[item.step], indent=indent, width=width)
    return lines


def explanation_document(read: ReadRun, explanations: Sequence[Explanation]) -> dict[str, Any]:
    """The same for scripts, with whole values."""
    document = run_documents.explanation_document(read, explanations)
    data = {item.step: item for item in step_data(read)}
    for step in document["steps"]:
        known = data.get(step["name"])
        step["inputs"] = dict(known.inputs) if known else {}
        step["outputs"] = dict(known.outputs) if known else {}
    return document


def _sentence(explanation: Explanation) -> str:
    """The phase and the sentence, without a repeated first word."""
    phase, sentence = str(explanation.phase), explanation.sentence
    if sentence.lower().startswith(phase.lower()):
        return phase + sentence[len(phase) :]
    return f"{phase}: {sentence}"


def data_lines(data: Iterable[StepData], *, width: int | None) -> list[str]:
    """A block for each step that has inputs or outputs, under a title; empty if none has."""
    lines: list[str] = []
    for item in data:
        if item.inputs or item.outputs:
            lines += [f"  {item.step}", *one_step_lines(item, indent="    ", width=width)]
    return ["", "Inputs and outputs:", *lines] if lines else []


def one_step_lines(data: StepData, *, indent: str, width: int | None) -> list[str]:
    """`in   name=value` and `out  name=value`."""
    return [
        *(value_line(f"{indent}in   ", name, value, width=width) for name, value in data.inputs.items()),
        *(value_line(f"{indent}out  ", name, value, width=width) for name, value in data.outputs.items()),
    ]


async def failed_log_lines(session: "Session", target: "Target", read: ReadRun) -> dict[str, list[str]]:
    """The last log lines of some failed steps, by step. Logs that cannot be read are omitted."""
    failed = [
        log_source(read, state, state.name, None)
        for state in read.record.steps
        if state.phase is StepPhase.FAILED and state.child and step_adapter(state.kind).view.has_log
    ]
    try:
        logs = session.logs(tails_of(target))
        return {
            log.source.path: [text for line in log.lines if (text := line_text(line))][-MAX_LOG_LINES:]
            async for log in logs.read_all(failed[:MAX_FAILED_LOGS], READ_LOG_LINES)
        }
    except ApiError:
        return {}
