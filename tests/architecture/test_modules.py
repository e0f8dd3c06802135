"""Rules for the code layout that linters do not check."""

import ast
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
DOMAIN = sorted((SOURCE / "jangar" / "domain").rglob("*.py"))
MAX_LINES_OF_A_MODULE = 600
MAX_MODULES_IN_A_FOLDER = 25
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


def test_no_module_is_longer_than_one_topic():
    """A module over 600 lines has more than one topic."""
    long = {
        str(module.relative_to(SOURCE)): n
        for module in MODULES
        if (n := _lines(module)) > MAX_LINES_OF_A_MODULE
    }
    assert long == {}


def test_no_folder_has_more_modules_than_a_reader_can_survey():
    """A folder of more than 25 modules needs sub-packages."""
    modules = Counter(
        str(module.parent.relative_to(SOURCE)) for module in MODULES if module.name != "__init__.py"
    )
    large = {folder for folder, count in modules.items() if count > MAX_MODULES_IN_A_FOLDER}
    assert large == set(), "split these folders into sub-packages"


def test_modules_are_named_for_what_they_know():
    """No utils, no helpers, no name that shadows the standard library."""
    assert [module for module in names(MODULES) if Path(module).stem in VAGUE] == []


@pytest.mark.parametrize("module", MODULES, ids=names(MODULES))
def test_every_module_starts_with_a_docstring(module):
    """The docstring says what the module knows."""
    tree = ast.parse(module.read_text())
    assert ast.get_docstring(tree), f"{module} has no docstring"


@pytest.mark.parametrize(
    "module",
    sorted((SOURCE / "jangar" / "domain").rglob("*.py")),
    ids=names(sorted((SOURCE / "jangar" / "domain").rglob("*.py"))),
)
def test_the_domain_reads_no_clock_and_does_no_io(module):
    """Time is an argument: the domain uses no clock, random source, environment or files."""
    problems = []
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            problems += [alias.name for alias in node.names if alias.name.split(".")[0] in CLOCK_MODULES]
        if (
            isinstance(node, ast.ImportFrom)
            and node.level == 0
            and (node.module or "").split(".")[0] in CLOCK_MODULES
        ):
            problems.append(node.module)
        if isinstance(node, ast.Call):
            problems += _clock_calls(node)
    assert problems == []


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
