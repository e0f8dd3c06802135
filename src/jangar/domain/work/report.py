"""What the runner in a container says about the end of its work: the member `runner` of the result. Pure.

It comes from a container, so it is data: nothing is decided by it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from jangar.api.agents.agentrun_status import MAX_ARTIFACTS, MAX_URL
from jangar.api.meta import JsonObject

MEMBER: Final = "runner"
MAX_PROBLEM: Final = 200


def report_of(result: str | None) -> JsonObject | None:
    """The runner's own word in a result; None where there is none that can be read."""
    try:
        read = json.loads(result or "null")
    except (ValueError, RecursionError):
        return None
    found = read.get(MEMBER) if isinstance(read, dict) else None
    return found if isinstance(found, dict) else None


def artifacts_of(report: Mapping[str, Any] | None) -> list[JsonObject]:
    """What the work left behind, as a status lists it."""
    listed = (report or {}).get("artifacts")
    found = []
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("name"), str) and not each.get("problem"):
            texts = {name: each.get(name) for name in ("name", "path", "key", "url")}
            kept = {name: value for name, value in texts.items() if isinstance(value, str)}
            if len(kept.get("url", "")) > MAX_URL:
                del kept["url"]
            found.append(kept)
    return found[:MAX_ARTIFACTS]


def warning_of(report: Mapping[str, Any] | None) -> str:
    """What makes a success doubtful: tool calls that were denied or all failed, and artifacts that are missing."""
    warnings = [_tool_warning((report or {}).get("toolCalls"))]
    listed = (report or {}).get("artifacts")
    warnings += [
        f"artifact {each.get('name')}: {each['problem']}"[:MAX_PROBLEM]
        for each in (listed[:MAX_ARTIFACTS] if isinstance(listed, list) else ())
        if isinstance(each, Mapping) and isinstance(each.get("problem"), str)
    ]
    return "; ".join(filter(None, warnings))


def _tool_warning(calls: Any) -> str:
    counts = calls if isinstance(calls, Mapping) else {}
    total, failed, denied = (
        count if isinstance(count := counts.get(name), int) else 0 for name in ("total", "failed", "denied")
    )
    told = f"{denied} of {total} tool calls were denied" if denied else ""
    if total and failed >= total:
        every = "its only tool call failed" if total == 1 else f"all {total} tool calls failed"
        told = f"{every} ({denied} denied)" if denied else every
    return told
