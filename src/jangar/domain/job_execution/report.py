"""The report of the runner in a container: the member `runner` of the result.

It comes from untrusted code, so no decision depends on it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from jangar.api.agents.agentrun_status import MAX_ARTIFACTS, MAX_URL
from jangar.api.meta import JsonObject

MEMBER: Final = "runner"
MAX_PROBLEM: Final = 200


def report_of(result: str | None) -> JsonObject | None:
    """The runner's report in a result; None if there is none or it is not valid."""
    try:
        read = json.loads(result or "null")
    except (ValueError, RecursionError):
        return None
    found = read.get(MEMBER) if isinstance(read, dict) else None
    return found if isinstance(found, dict) else None


def artifacts_of(report: Mapping[str, Any] | None) -> list[JsonObject]:
    """The artifacts of the work, as a status lists them."""
    listed = (report or {}).get("artifacts")
    found = []
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("name"), str) and not item.get("problem"):
            texts = {name: item.get(name) for name in ("name", "path", "key", "url")}
            kept = {name: value for name, value in texts.items() if isinstance(value, str)}
            if len(kept.get("url", "")) > MAX_URL:
                del kept["url"]
            found.append(kept)
    return found[:MAX_ARTIFACTS]


def warning_of(report: Mapping[str, Any] | None) -> str:
    """Warnings about a success: tool calls that were denied or all failed, and missing artifacts."""
    warnings = [_tool_warning((report or {}).get("toolCalls"))]
    listed = (report or {}).get("artifacts")
    warnings += [
        f"artifact {item.get('name')}: {item['problem']}"[:MAX_PROBLEM]
        for item in (listed[:MAX_ARTIFACTS] if isinstance(listed, list) else ())
        if isinstance(item, Mapping) and isinstance(item.get("problem"), str)
    ]
    return "; ".join(filter(None, warnings))


def _tool_warning(calls: Any) -> str:
    counts = calls if isinstance(calls, Mapping) else {}
    total, failed, denied = (
        count if isinstance(count := counts.get(name), int) else 0 for name in ("total", "failed", "denied")
    )
    warning = f"{denied} of {total} tool calls were denied" if denied else ""
    if total and failed >= total:
        failures = "its only tool call failed" if total == 1 else f"all {total} tool calls failed"
        warning = f"{failures} ({denied} denied)" if denied else failures
    return warning
