"""Every rule of docs/rules.md has a test that carries its number, `@pytest.mark.rule("DAG-5")`, and the reverse.

Reads the page and the tests as text; imports none of them.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "rules.md"


def rules_on_page(page: str) -> list[str]:
    """The numbers in the first column of the tables."""
    return re.findall(r"^\| ([A-Z]+-\d+) \| \S", page, re.MULTILINE)


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


def test_every_rule_on_the_page_has_a_test():
    assert in_order(set(rules_on_page(PAGE.read_text("utf-8"))) - rules_with_tests()) == []


def test_every_rule_that_a_test_cites_is_on_the_page():
    """A reader can look up every number."""
    assert sorted(rules_with_tests() - set(rules_on_page(PAGE.read_text("utf-8")))) == []


def test_the_page_lists_rules_once_and_in_order():
    """Within a group, numbers ascend without gaps, except in groups that are only partly built."""
    groups: dict[str, list[int]] = {}
    for rule in rules_on_page(PAGE.read_text("utf-8")):
        group, _, number = rule.partition("-")
        groups.setdefault(group, []).append(int(number))
    assert groups.keys() == {"DAG", "CAN", "GC", "ST", "AGENT", "GATE", "RUN", "CHART"}
    for group, numbers in groups.items():
        assert numbers == sorted(set(numbers)), group
        if group not in {"AGENT", "GATE"}:
            assert numbers == list(range(1, len(numbers) + 1)), group


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
