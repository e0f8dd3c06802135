"""Names and prose use the vocabulary of the field."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    path
    for folder in ("docs", "examples", "charts", "web/src")
    for suffix in ("md", "yaml", "ts", "tsx")
    for path in (ROOT / folder).rglob(f"*.{suffix}")
)
RETIRED_IDENTIFIERS = frozenset(
    {
        *(
            "told",
            "urgent_work",
            "calm",
            "unheard",
            "leavings",
            "leftovers",
            "workshop",
            "surroundings",
            "neighbours",
        ),
        *(
            "sharer",
            "sharers",
            "onward",
            "aftermath",
            "afterwards",
            "whoever",
            "nobody",
            "moments",
            "mending",
        ),
    }
)
"""Parts of names, between underscores or capital letters."""
RETIRED_PHRASES = (
    "whoever",
    "nobody's",
    "in the words of",
    "the existing system",
    "is told of",
    "so that nobody",
    "lets go of",
    "let go of",
    "behaviour",
    "honour",
    "colour",
    "recognise",
)
"""In texts that people read."""
EXPLAINS_LEGACY = ROOT / "docs" / "guides" / "migrating.md"
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PHRASES = re.compile("|".join(rf"\b{re.escape(phrase)}\b" for phrase in RETIRED_PHRASES), re.IGNORECASE)


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


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.is_relative_to(ROOT / "src")], ids=relative
)
def test_no_text_in_code_uses_a_retired_phrase(path):
    tree = ast.parse(path.read_text())
    assert [(line, match[0]) for text, line in texts(tree) for match in _PHRASES.finditer(text)] == []


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_no_page_uses_a_retired_phrase(path):
    if path == EXPLAINS_LEGACY:
        return
    lines = path.read_text().splitlines()
    assert [(at, match[0]) for at, line in enumerate(lines, 1) for match in _PHRASES.finditer(line)] == []
