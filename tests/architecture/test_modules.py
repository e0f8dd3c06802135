"""How the code is laid out: rules that a reader can rely on and a linter does not hold."""

import ast
from pathlib import Path
from statistics import median

import pytest

SOURCE = Path(__file__).parents[2] / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
DOMAIN = sorted((SOURCE / "jangar" / "domain").rglob("*.py"))
MAX_LENGTH = 600
MEDIAN = 120
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "base", "types", "logging"}
CLOCKS = {("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today")}
CLOCK_MODULES = {
    "time",
    "random",
    "secrets",
    "uuid",
    "os",
    "asyncio",
    "logging",
    "socket",
    "subprocess",
    "threading",
}


def names(modules):
    return [str(module.relative_to(SOURCE)) for module in modules]


def test_no_module_is_longer_than_a_reader_can_hold():
    """A module over 600 lines has more than one topic."""
    long = {str(module.relative_to(SOURCE)): n for module in MODULES if (n := _lines(module)) > MAX_LENGTH}
    assert long == {}


def test_the_median_module_is_short():
    """Most rooms are small."""
    assert median(_lines(module) for module in MODULES if _lines(module)) <= MEDIAN


def test_modules_are_named_for_what_they_know():
    """No utils, no helpers, no name that shadows the standard library."""
    assert [module for module in names(MODULES) if Path(module).stem in VAGUE] == []


@pytest.mark.parametrize("module", MODULES, ids=names(MODULES))
def test_every_module_opens_with_what_it_knows(module):
    """The docstring is the contract of the room."""
    tree = ast.parse(module.read_text())
    assert ast.get_docstring(tree), f"{module} has no docstring"


@pytest.mark.parametrize(
    "module",
    sorted((SOURCE / "jangar" / "domain").rglob("*.py")),
    ids=names(sorted((SOURCE / "jangar" / "domain").rglob("*.py"))),
)
def test_the_domain_reads_no_clock_and_does_no_io(module):
    """Time is an argument: no clock, no rng, no environment, no files in domain."""
    found = []
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in CLOCK_MODULES]
        if (
            isinstance(node, ast.ImportFrom)
            and node.level == 0
            and (node.module or "").split(".")[0] in CLOCK_MODULES
        ):
            found.append(node.module)
        if isinstance(node, ast.Call):
            found += _clock_calls(node)
    assert found == []


def _clock_calls(node: ast.Call) -> list[str]:
    match node.func:
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if (owner, name) in CLOCKS:
            return [f"{owner}.{name}()"]
        case ast.Name(id="open" | "print" | "input" as name):
            return [f"{name}()"]
        case _:
            return []


def _lines(module: Path) -> int:
    return len(module.read_text().splitlines())
