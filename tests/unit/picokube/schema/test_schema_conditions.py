import subprocess
import sys
import time

import pytest

from picokube.schema import CelEvaluationError, CelSyntaxError, CelType, compile_condition

VARIABLES = {
    "steps": CelType.MAP,
    "parameters": CelType.MAP,
    "items": CelType.LIST,
    "count": CelType.INT,
    "anything": CelType.DYN,
}
STEPS = {"build": {"phase": "Succeeded", "out": {"n": 3}}, "my-step": {"phase": "Failed"}}


def condition(source):
    return compile_condition(source, VARIABLES)


@pytest.mark.parametrize(
    ("source", "bindings", "expected"),
    [
        pytest.param("steps.build.phase == 'Succeeded'", {"steps": STEPS}, True, id="field"),
        pytest.param("steps['my-step'].phase == 'Succeeded'", {"steps": STEPS}, False, id="index"),
        pytest.param("has(steps.gone)", {"steps": STEPS}, False, id="has"),
        pytest.param("steps.?gone.phase.orValue('none') == 'none'", {"steps": STEPS}, True, id="optional"),
        pytest.param("count > 3 && count < 10", {"count": 5}, True, id="numbers"),
        pytest.param("items.all(x, x > 0)", {"items": [1, 2]}, True, id="all"),
        pytest.param(
            "items.sum() == 6 && items.max() == 3 && items.isSorted()", {"items": [1, 2, 3]}, True, id="lists"
        ),
        pytest.param(
            "items.indexOf('b') == 1 && 'abc'.indexOf('c') == 2", {"items": ["a", "b"]}, True, id="index-of"
        ),
        pytest.param("'a,b'.split(',').join('-').upperAscii() == 'A-B'", {}, True, id="text"),
        pytest.param("'abc-12'.find('[0-9]+') == '12'", {}, True, id="find"),
        pytest.param("url('https://a.b:8/p?q=1').getPort() == '8'", {}, True, id="url"),
        pytest.param("quantity('1Ki').compareTo(quantity('1024')) == 0", {}, True, id="quantity"),
        pytest.param("sets.contains(items, ['a'])", {"items": ["a", "b"]}, True, id="sets"),
        pytest.param("'%s is %d'.format(['x', 3]) == 'x is 3'", {}, True, id="format"),
        pytest.param("anything == null", {"anything": None}, True, id="null"),
        pytest.param("anything", {"anything": True}, True, id="dynamic-truth"),
    ],
)
def test_a_condition_gives_a_plain_truth_value(source, bindings, expected):
    """The library's own value type never leaves the package."""
    assert condition(source).evaluate(bindings) is expected


@pytest.mark.parametrize(
    ("source", "names"),
    [
        pytest.param("steps.build.phase == 'x'", {"build"}, id="field"),
        pytest.param("steps['my-step'].phase == 'x'", {"my-step"}, id="index"),
        pytest.param('steps["a"].x == steps.b.x', {"a", "b"}, id="both-forms"),
        pytest.param("has(steps.c)", {"c"}, id="has"),
        pytest.param("steps.?d.x.orValue(1) == 1", {"d"}, id="optional-field"),
        pytest.param("steps[?'e'].hasValue()", {"e"}, id="optional-index"),
        pytest.param("'steps.fake' == parameters.x", set(), id="literal-is-not-a-reference"),
        pytest.param("true // steps.fake", set(), id="comment-is-not-a-reference"),
        pytest.param("parameters.steps.inner == 1", set(), id="field-of-that-name"),
        pytest.param("items.all(steps, steps.x == 1)", set(), id="hidden-by-a-macro-variable"),
        pytest.param("steps.f.items.all(steps, steps.x == 1)", {"f"}, id="seen-before-it-is-hidden"),
        pytest.param("items.all(x, steps[x].ok)", set(), id="computed-index-names-nothing"),
        pytest.param("steps.build.steps.x == 1", {"build"}, id="direct-selections-only"),
    ],
)
def test_references_are_names_selected_directly(source, names):
    """Read from the syntax tree, so text that looks like a reference is none."""
    assert condition(source).references("steps") == names


def test_a_condition_lists_the_variables_it_uses():
    """A computed index names nothing, yet the variable is used."""
    found = condition("items.all(x, steps[x].ok)")
    assert (found.uses("steps"), found.uses("items"), found.uses("count")) == (True, True, False)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param("1 +", "line 1, column 4", id="unfinished"),
        pytest.param("count >\n  'a'", "line 1, column 7", id="wrong-types"),
        pytest.param("nobody.x == 1", "undeclared reference", id="unknown-variable"),
        pytest.param("count + 1", "must evaluate to a bool, not int", id="not-a-truth-value"),
        pytest.param("", "Syntax error", id="empty"),
        pytest.param("   ", "Syntax error", id="blank"),
        pytest.param("true\x00", "U+0000 is not allowed at", id="nul"),
        pytest.param("'\ud800' == ''", "U+D800 is not allowed", id="surrogate"),
        pytest.param("(" * 4000 + "true" + ")" * 4000, "nested too deeply", id="parentheses"),
        pytest.param("!" * 30 + "(" * 900 + "true", "nested too deeply", id="unbalanced"),
        pytest.param("+".join(["1"] * 4000) + " > 0", "nested too deeply", id="long-sum"),
        pytest.param("a" * 1_000_000, "characters; the maximum is", id="a-megabyte"),
        pytest.param("'" + "\u202e" * 20, "Syntax error", id="unicode"),
    ],
)
def test_a_hostile_or_broken_source_is_a_syntax_error_at_once(source, words):
    """Whatever the text, it is refused within moments and in words that tell where."""
    started = time.monotonic()
    with pytest.raises(CelSyntaxError) as caught:
        condition(source)
    assert words in str(caught.value) or (words.endswith(" at") and words[:-3] in str(caught.value))
    assert time.monotonic() - started < 2


def test_a_syntax_error_knows_its_place():
    """Line and column count from 1, for a mark in an editor."""
    with pytest.raises(CelSyntaxError) as caught:
        condition("true &&\n  nobody")
    assert (caught.value.line, caught.value.column) == (2, 3)


@pytest.mark.parametrize(
    ("source", "bindings", "words"),
    [
        pytest.param("steps.gone.x == 1", {"steps": STEPS}, "no such key: gone", id="missing-key"),
        pytest.param("items[3] == 1", {"items": [1]}, "index out of bounds: 3", id="index"),
        pytest.param("count / 0 == 1", {"count": 1}, "division by zero", id="division"),
        pytest.param("anything + 1 == 2", {"anything": "a"}, "no such overload", id="types"),
        pytest.param("count > 1", {}, "no value for count", id="unbound"),
        pytest.param("anything", {"anything": 3}, "must evaluate to a bool, got int", id="not-a-truth-value"),
        pytest.param("anything == 1", {"anything": object()}, "Non-CEL value", id="foreign-value"),
        pytest.param("[].max() == 1", {}, "max called on empty list", id="empty-list"),
    ],
)
def test_a_failed_evaluation_says_why(source, bindings, words):
    """One error class for all of them, none of it over budget."""
    with pytest.raises(CelEvaluationError) as caught:
        condition(source).evaluate(bindings)
    assert words in str(caught.value)
    assert not caught.value.over_budget


GROWING = ".map(a, a + a + a + a + a + a + a + a + a + a)"


@pytest.mark.parametrize(
    ("source", "bindings"),
    [
        pytest.param(
            "items.all(x, items.all(y, items.all(z, x + y + z >= 0)))", {"items": [1] * 300}, id="loops"
        ),
        pytest.param(f"['a']{GROWING * 9}[0].size() > 1", {}, id="growing-text"),
        pytest.param(f"[[1]]{GROWING * 9}[0].size() > 1", {}, id="growing-lists"),
        pytest.param(
            "dyn([1]" + ".map(a, [a, a, a, a, a, a, a, a])" * 9 + ") == dyn([2])", {}, id="growing-literals"
        ),
        pytest.param("'aaaaaaaa'" + ".replace('a', 'aaaaaaaa')" * 9 + " == 'b'", {}, id="replace"),
        pytest.param("items.map(x, x).size() > 1", {"items": ["a"] * 9_000}, id="building-a-long-list"),
        pytest.param("lists.range(1000000000).size() > 1", {}, id="range"),
        pytest.param(
            "items.all(x, items.indexOf(x) >= 0)",
            {"items": [str(n) for n in range(9_000)]},
            id="functions-in-loops",
        ),
    ],
)
def test_an_expression_that_asks_for_too_much_is_stopped_soon(source, bindings):
    """Neither time nor memory: it is refused before it runs, or while it does."""
    found = condition(source)
    started = time.monotonic()
    with pytest.raises(CelEvaluationError) as caught:
        found.evaluate(bindings)
    assert caught.value.over_budget
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    ("source", "bindings"),
    [
        pytest.param("items.all(x, items.exists(y, x == y))", {"items": list(range(80))}, id="pairs"),
        pytest.param(
            "items.map(x, x + '/' + x).join(',').size() > 1", {"items": ["abcd"] * 400}, id="map-and-join"
        ),
        pytest.param(
            "items.all(x, x.matches('^(a+)+$'))", {"items": ["a" * 200] * 100}, id="regular-expressions"
        ),
        pytest.param("items.distinct().size() == 3", {"items": [1, 1.0, True, "1", 1]}, id="distinct"),
        pytest.param("items.filter(x, x > 5).size() == 2", {"items": [4, 6, 8]}, id="filter"),
    ],
)
def test_ordinary_expressions_keep_within_the_budget(source, bindings):
    """What the product's conditions do is far from the limits."""
    assert condition(source).evaluate(bindings) is True


def test_values_that_nest_without_end_are_refused():
    """The library recurses; it never sees them."""
    deep = 1
    for _ in range(50_000):
        deep = {"a": deep}
    with pytest.raises(CelEvaluationError, match="nested too deeply"):
        condition("anything == 1").evaluate({"anything": deep})


def test_equal_sources_make_equal_conditions():
    """So that plans that hold conditions can be compared."""
    assert condition("count > 1") == condition("count > 1")
    assert condition("count > 1") != condition("count > 2")


def test_the_evaluator_is_loaded_with_the_first_expression():
    """Most commands compile none, and should not pay for it."""
    script = (
        "import sys, picokube.schema as s; assert 'cel_expr_python' not in sys.modules; "
        "s.compile_condition('true', {}); assert 'cel_expr_python' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
