"""Every pattern in the code matches hostile text in linear time (E2).

Collects the patterns by importing every module, and the called methods from its source.
"""

import ast
import importlib
import itertools
import re
import time
from pathlib import Path

import pytest

import jangar

LENGTH = 20_000
MAX_LENGTH = 0.5
"""CPU seconds for one text; a quadratic pattern takes several."""
METHODS = {"match", "fullmatch", "search", "sub", "finditer", "findall", "split"}
PUMPS = (
    *(
        "a",
        "A",
        "0",
        "9",
        ".",
        "-",
        "_",
        "/",
        " ",
        "\t",
        "\n",
        "\\",
        "'",
        '"',
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "<",
    ),
    *(
        "%",
        "#",
        ":",
        ",",
        "=",
        "*",
        "@",
        "?",
        "$",
        "$(",
        "a.",
        "a-",
        ".a",
        "a/",
        "0.",
        "1h",
        "{{",
        "a ",
        "a,",
        "--",
    ),
    *("\\a", "['", "'a'", "é", "a=", "!a", "\n---", "_a", "+", "~", "T", "$$", "()", "[a]", "%4"),
)
PREFIXES = (
    "",
    "a",
    "/",
    "{{",
    "['",
    '"',
    "?(",
    "metadata.labels['",
    "1",
    "TZ=",
    "https://",
    "git@a:",
    "a<",
    "[:",
    "(?P<",
)
SUFFIXES = ("", "!", "\x00")


def modules():
    root = Path(jangar.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if "\nimport re\n" in path.read_text() and "migrations" not in path.parts:
            yield importlib.import_module(".".join(path.relative_to(root.parent).with_suffix("").parts))


def patterns_of(module):
    """Name and pattern of every compiled pattern of the module."""
    for name, value in vars(module).items():
        held = (
            value.values()
            if isinstance(value, dict)
            else value
            if isinstance(value, tuple | list)
            else (value,)
        )
        for item in held:
            inner = item if isinstance(item, tuple) else (item,)
            for pattern in inner:
                if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
                    yield name, pattern


def methods_in(module):
    """The methods called on each name in the module's own source, and the patterns passed to `re` directly."""
    methods = {}
    direct = []
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS
        ):
            continue
        owner = node.func.value
        if isinstance(owner, ast.Subscript):
            owner = owner.value
        if not isinstance(owner, ast.Name):
            continue
        if (
            owner.id == "re"
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            direct.append((node.func.attr, re.compile(node.args[0].value)))
        methods.setdefault(owner.id, set()).add(node.func.attr)
    return methods, direct


def patterns_found():
    uses = {}
    for module in modules():
        methods, direct = methods_in(module)
        for method, pattern in direct:
            uses.setdefault((pattern, method), f"{module.__name__}:{pattern.pattern[:40]}")
        patterns = list(patterns_of(module))
        # Patterns in a table are used through a loop variable: by any of the other names.
        by_others = set().union(*methods.values()) | {"fullmatch"}
        for name, pattern in patterns:
            for method in sorted(methods.get(name, by_others)):
                uses.setdefault((pattern, method), f"{module.__name__}.{name}")
    return [
        pytest.param(pattern, method, id=f"{where}-{method}") for (pattern, method), where in uses.items()
    ]


def apply_pattern(pattern, method, text):
    match method:
        case "sub":
            pattern.sub("", text)
        case "finditer":
            for _ in pattern.finditer(text):
                pass
        case _:
            getattr(pattern, method)(text)


@pytest.mark.parametrize(("pattern", "method"), patterns_found())
def test_a_pattern_matches_hostile_text_in_linear_time(pattern, method):
    """E2: no pattern that is applied to user input backtracks over it."""
    slow = []
    budget = time.thread_time() + 2 * MAX_LENGTH
    for pump, prefix, suffix in itertools.product(PUMPS, PREFIXES, SUFFIXES):
        short = prefix + pump * (LENGTH // 20 // len(pump)) + suffix
        began = time.thread_time()
        apply_pattern(pattern, method, short)
        # A quadratic pattern needs a four-hundredth of the time for a twentieth of the text: only slow ones
        # get the whole.
        if time.thread_time() - began > MAX_LENGTH / 400:
            began = time.thread_time()
            apply_pattern(pattern, method, prefix + pump * (LENGTH // len(pump)) + suffix)
            if time.thread_time() - began > MAX_LENGTH:
                slow.append((prefix, pump, suffix))
        if slow or time.thread_time() > budget:
            break
    assert slow == []
