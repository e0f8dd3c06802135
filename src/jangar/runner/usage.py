"""What an agent says of its work on standard output: tokens, cost, tool calls, last words. Pure; trusts no number.

Claude Code (`claude -p --output-format stream-json --verbose`) opens with `{"type":"system","subtype":"init"}` and ends
with `{"type":"result"}`; Codex (`codex exec --json`) opens with `thread.started` and tells the usage of the thread
in `turn.completed`, as a total. A command whose first line is neither of these speaks no such format, whatever it
prints later.
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
"""Bytes of an agent's last message that become the output `result` where the agent wrote none."""

MAX_DENIED = 1000
"""Denied calls whose results are still to come."""

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
    """How many calls of tools an agent reports; those that failed include those that were denied."""

    total: int = 0
    failed: int = 0
    denied: int = 0

    def plus(self, *, failed: bool = False, denied: bool = False) -> "ToolCalls":
        """With one call more."""
        return ToolCalls(
            total=self.total + 1, failed=self.failed + (failed or denied), denied=self.denied + denied
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Whole numbers by name, and what it cost if the agent says so."""

    counts: Mapping[str, int]
    cost_usd: float | None = None


class UsageReader:
    """Takes the lines of standard output in their order."""

    def __init__(self, form: UsageFormat) -> None:
        self._form = form
        self._denied: set[str] = set()
        """The calls that Claude Code said were denied, before it tells their results."""
        self.usage: Usage | None = None
        self.tools = ToolCalls()
        self.last_words: str | None = None

    @property
    def is_listening(self) -> bool:
        """Whether another line could matter."""
        return self._form != "none"

    def take(self, line: bytes | None) -> None:
        """One whole line; None for one that is too long to be read."""
        if line is None:
            if self._form in {"claude", "codex"}:
                # It holds what a tool returned.
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
                self._heard(usage if isinstance(usage, Mapping) else {}, _CODEX)
            case "item.completed" if isinstance(item, Mapping):
                self._codex_item(item)

    def _claude_result(self, event: Mapping[str, Any]) -> None:
        usage = event.get("usage")
        counts = dict(usage) if isinstance(usage, Mapping) else {}
        self._heard(counts | {"turns": event.get("num_turns")}, _CLAUDE | {"turns": "turns"}, event)
        self._said(event.get("result"))

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
            self._said(item.get("text"))
        elif kind in _CODEX_TOOLS:
            self.tools = self.tools.plus(failed=status == "failed", denied=status == "declined")

    def _heard(
        self, given: Mapping[str, Any], names: Mapping[str, str], event: Mapping[str, Any] | None = None
    ) -> None:
        counts = {ours: given[theirs] for ours, theirs in names.items() if _is_count(given.get(theirs))}
        cost: Any = (event or {}).get("total_cost_usd")
        usage = Usage(counts=counts, cost_usd=round(float(cost), 6) if _is_cost(cost) else None)
        if usage != Usage(counts={}):
            self.usage = usage

    def _said(self, text: Any) -> None:
        self.last_words = text if isinstance(text, str) and text.strip() else None


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
