"""Extracts readable text from log lines: the text of JSON events that agents write, other lines as they are.

Knows the events of Claude Code, Codex, OpenCode and Gemini CLI, and the usual fields of structured logs. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

TEXT_FIELDS: Final = ("message", "msg", "text", "event")
"""Fields in which structured logs have their text."""
INPUT_FIELDS: Final = ("command", "file_path", "path", "pattern", "query", "url", "description")
"""The input that describes a tool call best, in order of preference."""


def last_text(lines: Sequence[str]) -> str:
    """The text of the last line that has any; empty if none has. Never returns JSON."""
    return next((text for line in reversed(lines) if (text := line_text(line))), "")


def line_text(line: str) -> str:
    """The readable text of one line; empty for an event without text and for truncated JSON."""
    shown = line.strip()
    if not is_json(shown):
        return line.rstrip()
    try:
        event = orjson.loads(shown)
    except orjson.JSONDecodeError:
        return ""
    text = _event_text(event) if isinstance(event, dict) else ""
    return next((part.strip() for part in reversed(text.splitlines()) if part.strip()), "")


def is_json(line: str) -> bool:
    """Whether it looks like a JSON object, complete or truncated."""
    return line.startswith(('{"', "{ "))


def _event_text(event: Mapping[str, Any]) -> str:
    match event:
        case {"type": "assistant", "message": {"content": [*parts]}}:
            return next((text for part in reversed(parts) if (text := _content(part))), "")
        case {"type": "item.started" | "item.updated" | "item.completed", "item": {"type": str()} as item}:
            return _item(item)
        case {"type": "text" | "reasoning" | "tool_use", "part": {"type": str()} as part}:
            return _content(part)
        case {"type": "tool_use", "tool_name": str(tool), **rest}:
            return _call(tool, rest.get("parameters"))
        case {"type": "message", "role": "assistant", "content": str(text)}:
            return text
        case {"type": "result", "result": str(text)}:
            return text
        case {"error": {"message": str(text)}} | {"error": str(text)}:
            return text
        case {"type": "user" | "system" | "tool_result" | "message"}:
            return ""
        case _:
            return _first_text(event, TEXT_FIELDS)


def _content(part: Any) -> str:
    match part:
        case {"type": "text" | "reasoning", "text": str(text)}:
            return text
        case {"type": "tool_use", "name": str(tool), **rest}:
            return _call(tool, rest.get("input"))
        case {"type": "tool", "tool": str(tool), "state": {"input": given}}:
            return _call(tool, given)
        case _:
            return ""


def _item(item: Mapping[str, Any]) -> str:
    match item:
        case {"type": "command_execution", "command": str(command)}:
            return f"$ {command}"
        case {"type": "mcp_tool_call", "tool": str(tool), **rest}:
            return _call(tool, rest.get("arguments"))
        case {"text": str(text)} | {"message": str(text)} | {"query": str(text)}:
            return text
        case {"type": str(kind)}:
            return kind.replace("_", " ")
        case _:
            return ""


def _call(tool: str, given: Any) -> str:
    values = given if isinstance(given, Mapping) else {}
    text = _first_text(values, INPUT_FIELDS).strip()
    return f"{tool}: {text.splitlines()[0]}" if text else tool


def _first_text(values: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((str(values[name]) for name in names if isinstance(values.get(name), str)), "")
