"""Names and prose use the vocabulary of the field."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))
SOURCES = [path for path in MODULES if path.is_relative_to(ROOT / "src")]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    path
    for folder in ("docs", "examples", "charts", "web/src")
    for suffix in ("md", "yaml", "ts", "tsx")
    for path in (ROOT / folder).rglob(f"*.{suffix}")
)
RETIRED_IDENTIFIERS = frozenset(
    [
        "aftermath",
        "afterwards",
        "calm",
        "haste",
        "leavings",
        "leftovers",
        "mending",
        "misfortunes",
        "moments",
        "neighbours",
        "nobody",
        "onward",
        "sharer",
        "sharers",
        "standing",
        "straggler",
        "stumbled",
        "surroundings",
        "told",
        "unasked",
        "unheard",
        "unsaid",
        "whoever",
        "workshop",
    ]
)
"""Parts of names, between underscores or capital letters."""
RETIRED_LOG_EVENTS = (
    "a hand was",
    "anew",
    "beside",
    "fell silent",
    "goes on",
    "is told",
    "let go",
    "lets go",
    "lost its past",
    "nobody",
    "somebody",
    "stumbled",
    "was told",
    "whoever",
)
"""In the constant event of a log call."""
RETIRED_PHRASES = (
    "behaviour",
    "catalogue",
    "centre",
    "colour",
    "favour",
    "fell silent",
    "honour",
    "in haste",
    "in the words of",
    "initialise",
    "is told of",
    "labelled",
    "let go",
    "lets go",
    "licence",
    "neighbour",
    "no one",
    "nobody's",
    "normalise",
    "organise",
    "recognise",
    "serialise",
    "so that nobody",
    "stumbled",
    "the existing system",
    "whoever",
)
"""In texts that people read."""
PENDING = {
    "identifiers": frozenset(
        [
            "anew",
            "anybody",
            "asked",
            "begun",
            "behaviour",
            "beside",
            "colour",
            "complaint",
            "complaints",
            "course",
            "everybody",
            "face",
            "hands",
            "heard",
            "honour",
            "hurry",
            "mended",
            "neighbour",
            "said",
            "saw",
            "settling",
            "sight",
            "sights",
            "somebody",
            "tells",
            "wakes",
        ]
    ),
    "log events": ("looked at again",),
    "phrases": (
        "anew",
        "anybody",
        "are told",
        "as ever",
        "beside",
        "everybody",
        "for ever",
        "go on",
        "goes on",
        "in sight",
        "is told",
        "look after",
        "looked after",
        "looked at again",
        "looks after",
        "nobody",
        "somebody",
        "tells of",
        "told of",
        "was told",
        "went on",
    ),
}
EXPLAINS_LEGACY = ROOT / "docs" / "guides" / "migrating.md"
LOG_METHODS = {"critical", "debug", "error", "exception", "info", "log", "warning"}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def any_of(phrases):
    return re.compile("|".join(rf"\b{re.escape(phrase)}\b" for phrase in phrases), re.IGNORECASE)


_PHRASES = any_of(RETIRED_PHRASES)
_LOG_EVENTS = any_of(RETIRED_LOG_EVENTS)


def identifiers(tree):
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno


def texts(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno


def log_events(tree):
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=method), args=arguments) if method in LOG_METHODS:
                for argument in arguments[:2]:
                    yield from texts(argument)


def relative(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=map(relative, MODULES))
def test_no_name_uses_a_retired_word(path):
    words = {path.stem: 1} | dict(identifiers(ast.parse(path.read_text())))
    retired = {
        f"{name} (line {line})"
        for name, line in words.items()
        if RETIRED_IDENTIFIERS & {word.lower() for word in _WORD.findall(name)}
    }
    assert retired == set()


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_no_log_event_uses_a_retired_phrase(path):
    tree = ast.parse(path.read_text())
    assert [(line, match[0]) for text, line in log_events(tree) for match in _LOG_EVENTS.finditer(text)] == []


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_no_text_in_code_uses_a_retired_phrase(path):
    tree = ast.parse(path.read_text())
    assert [(line, match[0]) for text, line in texts(tree) for match in _PHRASES.finditer(text)] == []


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_no_page_uses_a_retired_phrase(path):
    if path == EXPLAINS_LEGACY:
        return
    lines = path.read_text().splitlines()
    assert [(at, match[0]) for at, line in enumerate(lines, 1) for match in _PHRASES.finditer(line)] == []
