"""Every rule of docs/rules.md is held by a test that carries its number: `@pytest.mark.rule("DAG-5")`.

Reads the tests as text; imports none of them.
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
"""Rules that nothing pure can show, and why. A rule leaves the table with its first test."""
RULES |= {"AGENT-2"}
"""Single rules of groups that are not bound as a whole yet."""


def marked_rules(source: str) -> Iterator[str]:
    """Numbers given to `mark.rule(...)`; one that is not written out counts as its source text."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="rule"), args=numbers):
                yield from (str(ast.literal_eval(item)) for item in numbers if isinstance(item, ast.Constant))
                yield from (ast.unparse(item) for item in numbers if not isinstance(item, ast.Constant))


def rules_with_tests() -> set[str]:
    return {rule for module in TESTS.rglob("test_*.py") for rule in marked_rules(module.read_text("utf-8"))}


def in_order(rules: set[str]) -> list[str]:
    return sorted(rules, key=lambda rule: (rule.partition("-")[0], int(rule.partition("-")[2])))


def test_every_rule_has_a_test_or_a_reason_why_not():
    """A rule that nothing holds is a wish."""
    assert in_order(RULES - rules_with_tests() - NEEDS_THE_ENGINE.keys()) == []


def test_a_rule_that_has_a_test_needs_no_excuse():
    """The table only shrinks."""
    assert in_order(rules_with_tests() & NEEDS_THE_ENGINE.keys()) == []


def test_tests_carry_numbers_of_rules_that_exist():
    """A number with a typing mistake holds nothing."""
    assert sorted(rules_with_tests() - RULES) == []
    assert NEEDS_THE_ENGINE.keys() <= RULES


def test_the_page_that_users_read_lists_every_rule():
    """B13: a number that a test cites can be looked up. `ST-6, 7` are two."""
    page = (TESTS.parent / "docs" / "rules.md").read_text("utf-8")
    listed: set[str] = set()
    for group, numbers in re.findall(r"^\| ([A-Z]+)-([\d, ]+) \|", page, re.MULTILINE):
        listed |= {f"{group}-{number.strip()}" for number in numbers.split(",")}
    assert in_order(RULES ^ listed) == []


def test_marks_are_found_wherever_they_stand():
    """On functions and classes, in lists and on parameters; a mark of another name is none."""
    source = """
pytestmark = [pytest.mark.rule("DAG-1", "DAG-2")]
@pytest.mark.rule("CAN-3")
class TestIt:
    @mark.slow("CAN-4")
    def test_it(self): pytest.param(1, marks=pytest.mark.rule(NUMBER))
"""
    assert sorted(marked_rules(source)) == ["CAN-3", "DAG-1", "DAG-2", "NUMBER"]
