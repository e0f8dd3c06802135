"""Formats the result of a run: `status.json` and the termination message, within the size that a pod can report. Pure.

The message is the JSON object that the command wrote as its outputs, plus a member `runner` with how it ended, its
usage and its artifacts. Outputs take precedence: if space is short, `runner` is shortened and at last left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from jangar.runner.output import Mask
from jangar.runner.result_files import CollectedArtifact, LoopControl
from jangar.runner.usage import ToolCalls, Usage
from kubekit.times import rfc3339_milliseconds

MAX_LENGTH = 4096
MAX_MESSAGE_LENGTH = MAX_LENGTH - 1
"""The kubelet truncates at 4,096 bytes without a mark: a message of that size counts as truncated."""
OWN = "runner"
TOO_LARGE = "OutputsTooLarge"
MAX_ERROR = 640


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Everything that is known about the end of a run."""

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
    artifacts: Sequence[CollectedArtifact] = ()
    control: LoopControl | None = None
    """What the command wrote for the condition of its loop; it is always reported."""
    status_path: str = ""
    log_path: str = ""

    @property
    def status(self) -> str:
        if self.cancelled:
            return "cancelled"
        return "failed" if self.code or self.error else "succeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The outputs as the text of a JSON object, and the names of its members."""

    text: str = "{}"
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge:
    """The outputs are too large; the message has the sizes."""

    message: str


def outputs_of(written: bytes, size: int, last_message: str | None, mask: Mask) -> Outputs | TooLarge:
    """The outputs from the result file of `size` bytes, of which `written` was read; if empty, the last message."""
    if size > MAX_LENGTH:
        return TooLarge(message=f"the result has {size} bytes; at most {MAX_LENGTH} are allowed")
    text = written.decode("utf-8", "replace").removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").strip()
    if not text:
        return _as_result(mask.text(last_message)) if last_message else Outputs()
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
    """At most 4,095 bytes; exactly 4,096 if the outputs do not fit, which the engine reads as OutputsTooLarge."""
    if isinstance(outputs, Outputs):
        head = outputs.text.rstrip().removesuffix("}").rstrip().encode("utf-8", "replace")
        comma = b"," if outputs.names else b""
        for own in _shortened_results(ending, mask):
            message = head + comma + b'"' + OWN.encode() + b'":' + orjson.dumps(own) + b"}"
            if len(message) <= MAX_MESSAGE_LENGTH:
                return message
        alone = head + b"}"
        # A member of that name would let the command report about itself.
        if len(alone) <= MAX_MESSAGE_LENGTH and OWN not in outputs.names and ending.control is None:
            return alone
        outputs = TooLarge(
            message=f"the result does not fit into the {MAX_MESSAGE_LENGTH} bytes that a pod can report"
        )
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
            **_facts(ending, mask),
            "artifacts": places | {"outputArtifacts": outputs},
        }
    )
    fewer = whole | {"args": [], "argsOmitted": True}
    for document in (whole, fewer, fewer | {"artifacts": places | {"outputArtifacts": []}}):
        if len(text := orjson.dumps(document)) <= MAX_MESSAGE_LENGTH:
            return text
    return orjson.dumps({"provider": mask.text(ending.provider)[:253]} | _facts(ending, mask))


def _shortened_results(ending: Ending, mask: Mask) -> Iterator[dict[str, Any]]:
    """The same result with less and less detail."""
    facts = _facts(ending, mask)
    for artifacts in (
        [_artifact(collected, mask) for collected in ending.artifacts],
        [{"name": mask.text(collected.artifact.name)} for collected in ending.artifacts],
    ):
        yield _present(facts | {"artifacts": artifacts or None})
    yield facts
    yield {"status": ending.status, "exitCode": ending.code, **_control(ending)}


def _facts(ending: Ending, mask: Mask) -> dict[str, Any]:
    return _present(
        {
            "status": ending.status,
            "exitCode": ending.code,
            "signal": ending.signal,
            "startedAt": rfc3339_milliseconds(ending.started_at),
            "finishedAt": rfc3339_milliseconds(ending.finished_at),
            "usage": _usage(ending.usage),
            "toolCalls": _tool_calls(ending.tools),
            "error": mask.text(ending.error)[:MAX_ERROR] if ending.error else None,
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


def _artifact(collected: CollectedArtifact, mask: Mask) -> dict[str, Any]:
    artifact = collected.artifact
    texts = {
        "name": artifact.name,
        "path": artifact.path,
        "key": artifact.key,
        "url": artifact.url,
        "problem": collected.problem,
    }
    masked = {name: mask.text(text) if text else None for name, text in texts.items()}
    return _present(masked | {"size": collected.size, "sha256": collected.sha256})


def _present(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None}
