"""What an agent says of its work on standard output: tokens, cost, last words. Pure; trusts no number.

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

MOST_TOKENS = 10**12
MOST_USD = 10**6
LONGEST_TEXT = 2048
"""Bytes of an agent's last message that become the output `result` where the agent wrote none."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Whole numbers by name, and what it cost if the agent says so."""

    counts: Mapping[str, int]
    cost_usd: float | None = None


class UsageReader:
    """Takes the lines of standard output in their order."""

    def __init__(self, form: UsageFormat) -> None:
        self._form = form
        self.usage: Usage | None = None
        self.last_words: str | None = None

    @property
    def is_listening(self) -> bool:
        """Whether another line could matter."""
        return self._form != "none"

    def take(self, line: bytes) -> None:
        """One whole line."""
        if self._form == "none" or not line.strip():
            return
        event = _event(line)
        if self._form == "auto":
            self._form = _form_of(event)
        if event is None:
            return
        match self._form, event.get("type"):
            case "claude", "result":
                self._claude_result(event)
            case "codex", "turn.completed":
                usage = event.get("usage")
                self._heard(usage if isinstance(usage, Mapping) else {}, _CODEX)
            case "codex", "item.completed":
                item = event.get("item")
                if isinstance(item, Mapping) and item.get("type") == "agent_message":
                    self._said(item.get("text"))

    def _claude_result(self, event: Mapping[str, Any]) -> None:
        usage = event.get("usage")
        counts = dict(usage) if isinstance(usage, Mapping) else {}
        self._heard(counts | {"turns": event.get("num_turns")}, _CLAUDE | {"turns": "turns"}, event)
        self._said(event.get("result"))

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
    return isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= MOST_TOKENS


def _is_cost(given: Any) -> bool:
    return (
        isinstance(given, int | float)
        and not isinstance(given, bool)
        and math.isfinite(given)
        and 0 <= given <= MOST_USD
    )
