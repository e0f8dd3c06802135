"""The result of a run: `status.json` and the termination message, each within the size that a pod can report. Pure.

The message is what the command wrote as its outputs with one member more, `runner`: how it ended, what it used, what it
left. Outputs come first: where room is short, `runner` tells less, and nothing at last.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from jangar.runner.artifacts import Collected
from jangar.runner.loop_control import LoopControl
from jangar.runner.masking import Mask
from jangar.runner.usage import ToolCalls, Usage
from kubekit.times import rfc3339_milliseconds

MAX_LENGTH = 4096
FITS = MAX_LENGTH - 1
"""Nodes cut at 4,096 bytes and do not say so: a message that fills them counts as cut."""
OWN = "runner"
TOO_LARGE = "OutputsTooLarge"
MAX_ERROR = 640


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Everything known of a run's end."""

    provider: str
    argv: Sequence[str]
    code: int
    started_at: datetime
    finished_at: datetime
    signal: str | None = None
    cancelled: bool = False
    error: str | None = None
    usage: Usage | None = None
    tools: ToolCalls = field(default_factory=ToolCalls)
    artifacts: Sequence[Collected] = ()
    control: LoopControl | None = None
    """What the condition of a loop looks at; it is always told."""
    status_path: str = ""
    log_path: str = ""

    @property
    def status(self) -> str:
        if self.cancelled:
            return "cancelled"
        return "failed" if self.code or self.error else "succeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """A JSON object as text."""

    text: str = "{}"
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge:
    """Why there are no outputs."""

    message: str


def outputs_of(written: bytes, size: int, last_words: str | None, mask: Mask) -> Outputs | TooLarge:
    """From what the command wrote to its result file (`size` bytes, of which these were read), else its last words."""
    if size > MAX_LENGTH:
        return TooLarge(message=f"the result has {size} bytes; at most {MAX_LENGTH} are allowed")
    text = written.decode("utf-8", "replace").removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").strip()
    if not text:
        return _as_result(mask.text(last_words)) if last_words else Outputs()
    members = _object(text)
    if members is None:
        return _as_result(mask.text(text))
    return Outputs(text=mask.json(text), names=frozenset(members))


def _as_result(text: str) -> Outputs:
    return Outputs(text=orjson.dumps({"result": text}).decode(), names=frozenset({"result"}))


def _object(text: str) -> Mapping[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return read if isinstance(read, dict) else None


def termination_message(outputs: Outputs | TooLarge, ending: Ending, mask: Mask) -> bytes:
    """At most 4,095 bytes; exactly 4,096 where outputs do not fit, which the engine reads as OutputsTooLarge."""
    if isinstance(outputs, Outputs):
        head = outputs.text.rstrip().removesuffix("}").rstrip().encode("utf-8", "replace")
        comma = b"," if outputs.names else b""
        for own in _reported(ending, mask):
            message = head + comma + b'"' + OWN.encode() + b'":' + orjson.dumps(own) + b"}"
            if len(message) <= FITS:
                return message
        alone = head + b"}"
        # A member of that name would be the command's word about itself.
        if len(alone) <= FITS and OWN not in outputs.names and ending.control is None:
            return alone
        outputs = TooLarge(message=f"the result does not fit into the {FITS} bytes that a pod can report")
    own = {"status": "failed", "exitCode": ending.code, "reason": TOO_LARGE, "error": outputs.message}
    return orjson.dumps({OWN: own}).ljust(MAX_LENGTH)


def status_document(ending: Ending, mask: Mask) -> bytes:
    """The legacy status document, with usage; drops its longest parts until it fits."""
    places = {"statusPath": ending.status_path, "logPath": ending.log_path}
    outputs = [_artifact(artifact, mask) for artifact in ending.artifacts]
    argv = [mask.text(item) for item in ending.argv]
    whole = _present(
        {
            "provider": mask.text(ending.provider),
            "adapter": "exec",
            "binary": argv[0] if argv else None,
            "args": argv[1:],
            **_facts(ending, mask, MAX_ERROR),
            "artifacts": places | {"outputArtifacts": outputs},
        }
    )
    fewer = whole | {"args": [], "argsOmitted": True}
    for document in (whole, fewer, fewer | {"artifacts": places | {"outputArtifacts": []}}):
        if len(text := orjson.dumps(document)) <= FITS:
            return text
    return orjson.dumps({"provider": mask.text(ending.provider)[:253]} | _facts(ending, mask, MAX_ERROR))


def _reported(ending: Ending, mask: Mask) -> Iterator[dict[str, Any]]:
    """The same end in ever fewer words."""
    facts = _facts(ending, mask, MAX_ERROR)
    yield _present(
        facts | {"artifacts": [_artifact(artifact, mask) for artifact in ending.artifacts] or None}
    )
    yield _present(
        facts
        | {
            "artifacts": [{"name": mask.text(artifact.artifact.name)} for artifact in ending.artifacts]
            or None
        }
    )
    yield facts
    yield {"status": ending.status, "exitCode": ending.code, **_control(ending)}


def _facts(ending: Ending, mask: Mask, longest_error: int) -> dict[str, Any]:
    return _present(
        {
            "status": ending.status,
            "exitCode": ending.code,
            "signal": ending.signal,
            "startedAt": rfc3339_milliseconds(ending.started_at),
            "finishedAt": rfc3339_milliseconds(ending.finished_at),
            "usage": _usage(ending.usage),
            "toolCalls": _tool_calls(ending.tools),
            "error": mask.text(ending.error)[:longest_error] if ending.error else None,
            **_control(ending),
        }
    )


def _control(ending: Ending) -> dict[str, Any]:
    if ending.control is None:
        return {}
    return _present({"control": ending.control.members, "controlProblem": ending.control.problem})


def _usage(usage: Usage | None) -> dict[str, Any] | None:
    return None if usage is None else _present({**usage.counts, "costUsd": usage.cost_usd})


def _tool_calls(tools: ToolCalls) -> dict[str, int] | None:
    if not tools.total:
        return None
    return {"total": tools.total, "failed": tools.failed, "denied": tools.denied}


def _artifact(found: Collected, mask: Mask) -> dict[str, Any]:
    artifact = found.artifact
    texts = {
        "name": artifact.name,
        "path": artifact.path,
        "key": artifact.key,
        "url": artifact.url,
        "problem": found.problem,
    }
    masked = {name: mask.text(text) if text else None for name, text in texts.items()}
    return _present(masked | {"size": found.size, "sha256": found.sha256})


def _present(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None}
