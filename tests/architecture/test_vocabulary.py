"""Names and prose use the vocabulary of the field."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))
SOURCES = [path for path in MODULES if path.is_relative_to(ROOT / "src")]
TESTS = [path for path in MODULES if not path.is_relative_to(ROOT / "src")]
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
        "anew",
        "anybody",
        "asked",
        "begun",
        "behaviour",
        "beside",
        "calm",
        "colour",
        "complaint",
        "complaints",
        "course",
        "everybody",
        "face",
        "hands",
        "haste",
        "heard",
        "honour",
        "hurry",
        "leavings",
        "leftovers",
        "mended",
        "mending",
        "misfortunes",
        "moments",
        "neighbour",
        "neighbours",
        "nobody",
        "onward",
        "said",
        "saw",
        "settling",
        "sharer",
        "sharers",
        "sight",
        "sights",
        "somebody",
        "standing",
        "straggler",
        "stumbled",
        "surroundings",
        "tells",
        "told",
        "unasked",
        "unheard",
        "unsaid",
        "wakes",
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
    "looked at again",
    "lost its past",
    "nobody",
    "somebody",
    "stumbled",
    "was told",
    "whoever",
)
"""In the constant event of a log call."""
RETIRED_PHRASES = (
    "anew",
    "anybody",
    "are told",
    "as ever",
    "behaviour",
    "behaviours",
    "beside",
    "catalogue",
    "centre",
    "colour",
    "colours",
    "everybody",
    "favour",
    "fell silent",
    "for ever",
    "go on",
    "goes on",
    "honour",
    "honoured",
    "in haste",
    "in sight",
    "in the words of",
    "initialise",
    "is told",
    "labelled",
    "let go",
    "lets go",
    "licence",
    "look after",
    "looked after",
    "looked at again",
    "looks after",
    "neighbour",
    "neighbours",
    "no one",
    "nobody",
    "normalise",
    "organise",
    "recognise",
    "serialise",
    "somebody",
    "stumbled",
    "tells of",
    "the existing system",
    "told of",
    "was told",
    "went on",
    "whoever",
)
"""In texts that people read."""
TABLE_OF_FAULTS = ROOT / "docs" / "reliability.md"
"""Its rows are stored under their titles, which do not change."""
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


def docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield from texts(node.value)


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


@pytest.mark.parametrize("path", TESTS, ids=relative)
def test_no_docstring_of_a_test_uses_a_retired_phrase(path):
    tree = ast.parse(path.read_text())
    assert [(line, match[0]) for text, line in docstrings(tree) for match in _PHRASES.finditer(text)] == []


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_no_page_uses_a_retired_phrase(path):
    if path == EXPLAINS_LEGACY:
        return
    numbered = enumerate(path.read_text().splitlines(), 1)
    lines = [(at, line) for at, line in numbered if path != TABLE_OF_FAULTS or not line.startswith("|")]
    assert [(at, match[0]) for at, line in lines for match in _PHRASES.finditer(line)] == []
