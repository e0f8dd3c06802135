"""The evaluation of user input is bounded, however it is written (E2, E3).

Limits are in CPU time of this thread, which is independent of the machine's load.
"""

import resource
import time
from contextlib import contextmanager, suppress

import pytest

from jangar.api.agents.implementation import ImplementationText
from jangar.api.phases import StepPhase
from jangar.api.reasons import Reason
from jangar.api.tools import ToolSpec
from jangar.domain.agentrun.task import task_of
from jangar.domain.agentrun.templates import MAX_RENDERED, TemplateError, Templates, template_problem
from jangar.domain.orchestration.planning.initial import initial_states
from jangar.domain.orchestration.planning.observation import Limits
from jangar.domain.orchestration.planning.starting import evaluate_when, start_attempt
from jangar.domain.orchestration.scope import MAX_CONDITION_VALUE_BYTES, Scope
from jangar.domain.toolrun import NoCommand, command_of
from jangar.lint.conditions import compile_when
from support.builders import NOON, a_definition, a_run, a_step, at

MAX_LENGTH = 0.5  # twice the maximum, for a slow machine
LARGE = 65_536


@contextmanager
def quickly(seconds=MAX_LENGTH):
    began = time.thread_time()
    yield
    assert time.thread_time() - began < seconds


def repeated(text, times=200, length=9_900):
    """The expression repeated as often as it fits."""
    return " || ".join(text.replace("%", str(n)) for n in range(min(times, length // (len(text) + 6))))


EXPRESSIONS = {
    "find with optional characters": f"parameters.y.find('{'a?' * 200}{'a' * 200}') == 'x'",
    "find with nested repeats": "parameters.y.find('((a?){30}){30}(a{30}){30}c') == 'x'",
    "find with many groups": f"parameters.y.find('{'(a|b|c)*' * 900}') == 'x'",
    "find that keeps many states": "parameters.r.find('[ab]*a[ab]{900}c') == 'x'",
    "many finds": repeated("parameters.r.find('[ab]*a[ab]{300}c%') == 'x'"),
    "many matches": repeated("parameters.y.matches('(a?){300}a{300}b%')"),
    "findAll that reads the rest each time": "parameters.y.findAll('a.*x|a').size() == 1",
    "findAll of nothing": "parameters.y.findAll('').size() == 1",
    "a pattern that is a value": "parameters.y.matches(parameters.p)",
    "list handed over at every step": "parameters.x.split(',').all(i, parameters.x.split(',').indexOf(i) >= 0)",
    "many lists handed over": repeated("parameters.x.split(',').indexOf('%') > 0"),
    "many distinct": repeated("parameters.x.split('').distinct().size() == %"),
    "nested lists": repeated(f"[{','.join(['parameters.x.split(``)'] * 20)}].distinct() == []").replace(
        "`", "'"
    ),
    "map that doubles": "parameters.x.split(',').map(i, i + i + i).size() == 1",
    "ranges in ranges": "lists.range(10000).all(i, lists.range(10000).all(j, i + j >= 0))",
    "range to list": "lists.range(10000).map(i, string(i)).join(',').size() > 1",
    "lists of ranges": "lists.range(100).map(i, lists.range(100).map(j, lists.range(100))).flatten().size() == 1",
    "literal list in a loop": f"[{','.join(['1'] * 4500)}].map(i, i).size() == 1",
    "replace that multiplies": "parameters.y.replace('a', parameters.y).size() == 1",
    "many lower": repeated("parameters.y.lowerAscii() == 'a%'"),
    "many addresses": repeated("isURL(parameters.y)", 400),
    "many quotes": repeated("strings.quote(parameters.y) == '%'", 400),
    "format": f"'{'%s' * 60}'.format([{','.join(['parameters.y'] * 60)}]) == ''",
    "nested exists": "".join(f"[1,2].exists(a{n}," for n in range(14)) + "false" + ")" * 14,
    "brackets": "(" * 3_000,
    "signs": "!" * 9_000 + "true",
    "sum": "+".join(["1"] * 4_000) + " == 1",
    "a string without an end": '"' + "a" * 9_900,
    "letters of another alphabet": "é" * 9_900,
    "one long number": "1" * 9_900,
    "numbers with bases": "0x" * 4_950,
    "characters of no token": "#" * 9_900,
}
PARAMETERS = {
    "x": "a," * (LARGE // 2),
    "y": "a" * LARGE,
    "r": "".join("ab"[(n * n // 7 + n // 3) % 2] for n in range(LARGE)),
    "p": "(a|b|)*" * 1_000,
}


@pytest.mark.rule("DAG-5")
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_condition_has_a_result_or_an_error_in_time(name):
    """E2: a `when` ends at once, whatever it evaluates on values of 64 KiB."""
    when = EXPRESSIONS[name]
    with quickly():
        try:
            condition = compile_when(when)
        except ValueError:
            return
    step = {"name": "a", "kind": "Checkpoint", "when": "True"}
    definition = a_definition(step)
    scope = Scope(definition, PARAMETERS, initial_states(definition, {}, NOON))
    with quickly():
        try:
            answer = condition.evaluate(scope.bindings(definition.steps[0], condition))
        except ValueError as error:
            answer = str(error)
    assert isinstance(answer, bool | str)


@pytest.mark.rule("DAG-5")
def test_patterns_have_the_syntax_of_kubernetes():
    """RE2's own syntax works in find, findAll and matches, including patterns that the former engine rejected."""
    for when in (
        "'xaab'.find('(?i)A+b') == 'aab'",
        r"'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b22'.findAll('[0-9]+', 1) == ['1']",
        r"'αβγ'.find('\\p{Greek}+') == 'αβγ'",
        "'aaab'.find('(a+)+b') == 'aaab'",
        "'v1.2'.matches('^v[0-9]+([.][0-9]+)*$') && !'x'.matches('^v')",
        "parameters.m.matches('b.') && matches('abc', 'b')",
    ):
        assert compile_when(when).evaluate({"parameters": {"m": "abc"}, "steps": {}}) is True, when
    with pytest.raises(ValueError, match="illegal regex"):
        compile_when("'a'.find('(?=a)') == ''").evaluate({"parameters": {}, "steps": {}})


@pytest.mark.rule("AGENT-2")
def test_a_condition_reads_values_up_to_64_kib():
    """AGENT-2: a larger value is a ConditionError if the condition references it, and ignored otherwise."""
    definition = a_definition({"name": "a", "kind": "Checkpoint", "when": "True"})
    step = definition.steps[0]
    state = initial_states(definition, {}, NOON)[0]
    scope = Scope(definition, {"fits": "é" * (MAX_CONDITION_VALUE_BYTES // 2), "big": "x" * 65_537}, [state])

    def phase_of(when):
        result = evaluate_when(_with(step, compile_when(when)), state, scope, at(1))
        return result.phase, result.reason, result.message

    assert phase_of("parameters.fits != ''") == (state.phase, state.reason, state.message)
    too_large = (
        StepPhase.FAILED,
        Reason.CONDITION_ERROR,
        "when: parameters.big has 65,537 bytes; a condition can read at most 65,536 bytes",
    )
    assert phase_of("parameters.big != ''") == too_large
    assert phase_of("parameters.all(name, name != '')") == too_large


def _with(step, when):
    from dataclasses import replace  # noqa: PLC0415

    return replace(step, when=when)


@pytest.mark.rule("AGENT-2")
def test_a_template_bomb_fails_its_step_and_uses_no_memory():
    """E3: 200 KB inserted 5,000 times is Failed/TooLarge, and nothing of that size is ever allocated."""
    definition = a_definition(a_step("a", **{"with": {"bomb": "{{ parameters.p }}" * 5_000}}))
    scope = Scope(definition, {"p": "x" * 200_000}, initial_states(definition, {}, NOON))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with quickly():
        result = start_attempt(
            definition.steps[0], initial_states(definition, {}, NOON)[0], a_run(), Limits(), scope, at(1)
        )
    assert (result.phase, result.reason) == (StepPhase.FAILED, Reason.TOO_LARGE)
    assert "1,000,000 bytes" in result.message
    assert result.next_retry_at is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


@pytest.mark.rule("AGENT-2")
def test_the_inputs_of_a_step_are_bounded_together():
    """E3: many names, and passed parameters, count as well; the JSON size counts, with escapes."""
    for inputs, given in (
        ({f"n{n}": "{{ parameters.p }}" for n in range(6)}, {"p": "x" * 200_000}),
        ({"a": "{{ parameters.p }}"}, {"p": "\x01" * 200_000}),
        ({"a": "small"}, {"p": "x" * 1_000_001}),
    ):
        definition = a_definition(a_step("a", **{"with": inputs}))
        states = initial_states(definition, {}, NOON)
        result = start_attempt(
            definition.steps[0], states[0], a_run(), Limits(), Scope(definition, given, states), at(1)
        )
        assert result.reason == Reason.TOO_LARGE, given


@pytest.mark.rule("AGENT-2")
def test_a_tool_and_a_task_have_the_same_limit():
    """E3: the command of a ToolRun and the text of an AgentRun are TooLarge without being built."""
    tool = ToolSpec.model_validate({"image": "i", "command": ["sh"], "args": ["{{ parameters.p }}" * 5_000]})
    with quickly():
        result = command_of(tool, {"p": "x" * 200_000})
    assert isinstance(result, NoCommand)
    assert result.reason == Reason.TOO_LARGE
    text = ImplementationText(text="{{ parameters.p }}" * 7_000)
    with quickly():
        assert task_of(text, {"p": "x" * 2_048}).too_large


@pytest.mark.parametrize(
    "external_id", ["/" * 40_000, "a/" * 20_000, "a/b#" * 10_000, "a" * 40_000 + "#1", "#" * 40_000]
)
def test_an_external_id_is_parsed_in_linear_time(external_id):
    """E2: 40 KB of slashes took six minutes in every reconcile."""
    task = ImplementationText.model_validate(
        {"text": "t", "source": {"provider": "github", "externalId": external_id}}
    )
    with quickly(0.1):
        assert "issueNumber" not in task_of(task, {}).facts


@pytest.mark.parametrize(
    ("external_id", "expected"),
    [
        ("acme/shop#12", ("acme/shop", "12")),
        ("a/b/c#7", ("a/b/c", "7")),
        ("/shop#1", None),
        ("acme/#1", None),
        ("acme/shop#x", None),
        ("acme/shop", None),
        ("ac me/shop#1", None),
    ],
)
def test_an_issue_of_github_is_a_repository_and_a_number(external_id, expected):
    task = ImplementationText.model_validate(
        {"text": "t", "source": {"provider": "github", "externalId": external_id}}
    )
    facts = task_of(task, {}).facts
    assert (facts.get("repository"), facts.get("issueNumber")) == (expected or (None, None))


@pytest.mark.parametrize(
    "text",
    [
        "{{" * 30_000,
        "{%" * 30_000,
        "{#" * 30_000,
        "{{ a " * 30_000,
        "{{" + " " * 60_000,
        "{{ '" + "\\" * 60_000,
        "{{ " + "a(" * 900 + "}}",
        "{{ " + "|" * 1_900 + "}}",
        "{{ a" + " " * 1_900 + "}}" * 30,
        "{{ " + "[" * 1_900 + "}}",
        "{{ " + "(" * 1_900 + ")" * 50 + "}}",
        "{% if " + "not " * 400 + "a %}" * 50,
        "{% if a %}" * 100,
        "{{ a" + ".b" * 900 + " }}",
        "{{ x }}" * 100_000,
    ],
)
def test_a_provider_template_is_checked_in_time(text):
    """E2: `{{` thirty thousand times was quadratic. Valid or invalid, the result is immediate."""
    with quickly(0.1):
        template_problem(text)
    with quickly(0.2), suppress(TemplateError):
        Templates({"a": "x", "x": "y"}).fill(text)


def test_a_provider_template_stops_at_its_size_limit():
    """E3: a hundred expressions of 400 KB each stop at the third, not after 40 MB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TemplateError, match=f"more than {MAX_RENDERED:,} characters"):
        Templates({"a": "x" * 400_000}).fill("{{ a }}" * 100)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
