"""The words after `jangar runner`, understood without a library: a container's start waits for them. Pure."""

from collections.abc import Sequence
from pathlib import Path

from jangar.runner.process import Asked


def asked_by(words: Sequence[str]) -> Asked | None:
    """What is asked for; None if that is help, or nothing that can be understood."""
    at = words.index("--") if "--" in words else len(words)
    left, command = list(words[:at]), tuple(words[at + 1 :])
    found: dict[str, str] = {}
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if name in {"--root", "--grace"} and (equals or left):
            found[name] = value if equals else left.pop(0)
        elif word.startswith("-") or "spec" in found:
            return None
        else:
            found["spec"] = word
    try:
        grace = float(found["--grace"]) if "--grace" in found else None
    except ValueError:
        return None
    if grace is not None and not 0 <= grace < float("inf"):
        return None
    return Asked(
        spec=Path(found["spec"]) if "spec" in found else None,
        root=Path(found["--root"]) if "--root" in found else None,
        grace=grace,
        command=command,
    )
