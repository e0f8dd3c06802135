"""Log events can be searched for: each is a constant, lower-case string, and its values are fields in `extra`."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src").rglob("*.py"))
LEVELS = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log"})
EVENT = re.compile(r"[a-z][a-z0-9 ;()-]*[a-z0-9)]")
"""Plain words: no capital letters, no placeholders, no period at the end."""


def log_calls(tree):
    """Calls of a logger: `log`, `access_log` or `logging.getLogger(...)`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=level)) if (
                level in LEVELS and name.lower().endswith(("log", "logger"))
            ):
                yield node
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Attribute(attr="getLogger")), attr=level)
            ) if level in LEVELS:
                yield node


def is_event(call):
    """Whether the message is a constant event, and nothing is spliced into it."""
    message, *values = call.args[1:] if call.func.attr == "log" else call.args
    return (
        not values
        and isinstance(message, ast.Constant)
        and isinstance(message.value, str)
        and EVENT.fullmatch(message.value) is not None
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_log_events_are_constant_lower_case_strings(path):
    bad = [ast.unparse(call) for call in log_calls(ast.parse(path.read_text())) if not is_event(call)]
    assert bad == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('log.info("lease lost", extra={"lease": name})', True),
        ('log.log(level, "retrying")', True),
        ('log.warning("%s failed", name)', False),
        ('log.warning(f"{name} failed")', False),
        ('log.error("The lease is lost.")', False),
        ('logging.getLogger("jangar").error(message)', False),
    ],
)
def test_events_are_recognized(source, expected):
    (call,) = log_calls(ast.parse(source))
    assert is_event(call) is expected
