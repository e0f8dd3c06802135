"""Every rule of docs/rules.md has a test with its number: `@pytest.mark.rule("DAG-5")`.

Reads the tests as text and imports none of them.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
RULES = {
    f"{group}-{number}"
    for group, last in {"DAG": 16, "CAN": 9, "GC": 9, "ST": 7, "CHART": 7, "RUN": 5}.items()
    for number in range(1, last + 1)
} | {"AGENT-2", "AGENT-3", "GATE-1"}
NEEDS_THE_ENGINE: dict[str, str] = {}
"""Rules that no pure test can show, and why. Remove a rule from the table when it gets a test."""
RULES |= {"AGENT-2"}
"""Single rules of groups that are not bound as a whole yet."""


def marked_rules(source: str) -> Iterator[str]:
    """Numbers in `mark.rule(...)`; a number that is not a literal counts as its source text."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="rule"), args=numbers):
                yield from (str(ast.literal_eval(item)) for item in numbers if isinstance(item, ast.Constant))
                yield from (ast.unparse(item) for item in numbers if not isinstance(item, ast.Constant))


def rules_with_tests() -> set[str]:
    return {rule for module in TESTS.rglob("test_*.py") for rule in marked_rules(module.read_text("utf-8"))}


def in_order(rules: set[str]) -> list[str]:
    return sorted(rules, key=lambda rule: (rule.partition("-")[0], int(rule.partition("-")[2])))


def test_every_rule_has_a_test_or_a_documented_reason():
    """A rule needs a test or an entry in the table."""
    assert in_order(RULES - rules_with_tests() - NEEDS_THE_ENGINE.keys()) == []


def test_a_rule_with_a_test_is_not_in_the_table():
    """The table only shrinks."""
    assert in_order(rules_with_tests() & NEEDS_THE_ENGINE.keys()) == []


def test_tests_mark_only_existing_rules():
    """A mistyped number fails."""
    assert sorted(rules_with_tests() - RULES) == []
    assert NEEDS_THE_ENGINE.keys() <= RULES


def test_the_rules_page_lists_every_rule():
    """B13: users can look up every number that a test cites. `ST-6, 7` are two rules."""
    page = (TESTS.parent / "docs" / "rules.md").read_text("utf-8")
    listed: set[str] = set()
    for group, numbers in re.findall(r"^\| ([A-Z]+)-([\d, ]+) \|", page, re.MULTILINE):
        listed |= {f"{group}-{number.strip()}" for number in numbers.split(",")}
    assert in_order(RULES ^ listed) == []


def test_rule_marks_are_found_on_every_kind_of_definition():
    """On functions and classes, in lists and on parameters; marks with another name do not count."""
    source = """
pytestmark = [pytest.mark.rule("DAG-1", "DAG-2")]
@pytest.mark.rule("CAN-3")
class TestIt:
    @mark.slow("CAN-4")
    def test_it(self): pytest.param(1, marks=pytest.mark.rule(NUMBER))
"""
    assert sorted(marked_rules(source)) == ["CAN-3", "DAG-1", "DAG-2", "NUMBER"]
