"""Reads an agent's events on standard output: tokens, cost, tool calls, last message. Pure; validates every number.

Claude Code (`claude -p --output-format stream-json --verbose`) opens with `{"type":"system","subtype":"init"}` and ends
with `{"type":"result"}`; Codex (`codex exec --json`) opens with `thread.started` and reports the total usage of the
thread in `turn.completed`. If the first line of a command is neither of these, its output has no such format.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from jangar.runner.spec import UsageFormat

MAX_TOKENS = 10**12
MAX_USD = 10**6
MAX_TEXT_LENGTH = 2048
"""Bytes of an agent's last message, which is the output `result` if the agent wrote no outputs."""
MAX_DENIED = 1000
"""Denied calls whose results are awaited."""

_CLAUDE = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadTokens": "cache_read_input_tokens",
    "cacheWriteTokens": "cache_creation_input_tokens",
}
_CODEX = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadTokens": "cached_input_tokens",
    "reasoningTokens": "reasoning_output_tokens",
}
_CODEX_TOOLS = frozenset({"command_execution", "file_change", "mcp_tool_call", "web_search"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalls:
    """Number of tool calls that an agent reports; failed ones include denied ones."""

    total: int = 0
    failed: int = 0
    denied: int = 0

    def plus(self, *, failed: bool = False, denied: bool = False) -> "ToolCalls":
        """The counts with one more call."""
        return ToolCalls(
            total=self.total + 1, failed=self.failed + (failed or denied), denied=self.denied + denied
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts by name, and the cost if the agent reports it."""

    counts: Mapping[str, int]
    cost_usd: float | None = None


class UsageReader:
    """Accumulates usage from the lines of standard output."""

    def __init__(self, form: UsageFormat) -> None:
        self._form = form
        self._denied: set[str] = set()
        """Calls that Claude Code reported as denied, and whose results are awaited."""
        self.usage: Usage | None = None
        self.tools = ToolCalls()
        self.last_message: str | None = None

    def take(self, line: bytes | None) -> None:
        """Read one whole line; None stands for one that is too long."""
        if line is None:
            if self._form in {"claude", "codex"}:
                # Only results of tool calls are that long.
                self.tools = self.tools.plus()
            return
        if self._form == "none" or not line.strip():
            return
        event = _event(line)
        if self._form == "auto":
            self._form = _form_of(event)
        if event is None:
            return
        if self._form == "claude":
            self._claude(event)
        elif self._form == "codex":
            self._codex(event)

    def _claude(self, event: Mapping[str, Any]) -> None:
        match event.get("type"):
            case "result":
                self._claude_result(event)
            case "user":
                self._claude_tool_results(event)
            case "system" if event.get("subtype") == "permission_denied" and len(self._denied) < MAX_DENIED:
                self._denied.add(str(event.get("tool_use_id")))

    def _codex(self, event: Mapping[str, Any]) -> None:
        usage, item = event.get("usage"), event.get("item")
        match event.get("type"):
            case "turn.completed":
                self._set_usage(usage if isinstance(usage, Mapping) else {}, _CODEX)
            case "item.completed" if isinstance(item, Mapping):
                self._codex_item(item)

    def _claude_result(self, event: Mapping[str, Any]) -> None:
        usage = event.get("usage")
        counts = dict(usage) if isinstance(usage, Mapping) else {}
        self._set_usage(counts | {"turns": event.get("num_turns")}, _CLAUDE | {"turns": "turns"}, event)
        self._set_message(event.get("result"))

    def _claude_tool_results(self, event: Mapping[str, Any]) -> None:
        message = event.get("message")
        content = message.get("content") if isinstance(message, Mapping) else None
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping) and part.get("type") == "tool_result":
                call = str(part.get("tool_use_id"))
                self.tools = self.tools.plus(failed=part.get("is_error") is True, denied=call in self._denied)
                self._denied.discard(call)

    def _codex_item(self, item: Mapping[str, Any]) -> None:
        kind, status = item.get("type"), item.get("status")
        if kind == "agent_message":
            self._set_message(item.get("text"))
        elif kind in _CODEX_TOOLS:
            self.tools = self.tools.plus(failed=status == "failed", denied=status == "declined")

    def _set_usage(
        self, given: Mapping[str, Any], names: Mapping[str, str], event: Mapping[str, Any] | None = None
    ) -> None:
        counts = {ours: given[theirs] for ours, theirs in names.items() if _is_count(given.get(theirs))}
        cost: Any = (event or {}).get("total_cost_usd")
        usage = Usage(counts=counts, cost_usd=round(float(cost), 6) if _is_cost(cost) else None)
        if usage != Usage(counts={}):
            self.usage = usage

    def _set_message(self, text: Any) -> None:
        self.last_message = text if isinstance(text, str) and text.strip() else None


def _event(line: bytes) -> Mapping[str, Any] | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        read = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return read if isinstance(read, dict) else None


def _form_of(first: Mapping[str, Any] | None) -> UsageFormat:
    match first:
        case {"type": "system", "subtype": "init"}:
            return "claude"
        case {"type": "thread.started"}:
            return "codex"
        case _:
            return "none"


def _is_count(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= MAX_TOKENS


def _is_cost(given: Any) -> bool:
    return (
        isinstance(given, int | float)
        and not isinstance(given, bool)
        and math.isfinite(given)
        and 0 <= given <= MAX_USD
    )
