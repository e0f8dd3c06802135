"""What lint says to do about a value of the wrong type, a broken condition and an empty file (B10)."""

import re

import pytest
from lint_cases import HEAD, linted, reported

from jangar.lint.conditions import compile_when, plain_problem

STEP = "name: a, kind: ToolRun"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            f"{{steps: [{{{STEP}, toolRef: {{name: t}}}}], policies: {{maxParallel: two}}}}",
            "(write a whole number, such as 2)",
            id="a-word-for-a-number",
        ),
        pytest.param(
            f"{{steps: [{{{STEP}, toolRef: {{name: t}}, timeoutSeconds: 30s}}]}}",
            "(write a whole number of seconds, without a unit: 30)",
            id="seconds-with-a-unit",
        ),
        pytest.param(
            f"{{steps: [{{{STEP}, toolRef: {{name: t}}, timeoutSeconds: 5m}}]}}",
            "(write a whole number of seconds, without a unit: 300)",
            id="minutes",
        ),
        pytest.param(
            f"{{steps: [{{{STEP}, toolRef: {{name: t}}, timeoutSeconds: soon}}]}}",
            "(write a whole number of seconds, such as 30)",
            id="no-duration",
        ),
        pytest.param(
            f"{{steps: [{{{STEP}, toolRef: {{name: t}}, timeoutSeconds: '30'}}]}}",
            "(write it without quotes)",
            id="a-quoted-number",
        ),
        pytest.param(
            f"{{steps: [{{{STEP}, toolRef: {{name: t}}, continueOnFailure: maybe}}]}}",
            "(write true or false)",
            id="a-word-for-a-boolean",
        ),
        pytest.param(f"{{steps: [{{{STEP}, toolRef: t}}]}}", "(write toolRef: {name: t})", id="a-bare-name"),
        pytest.param(
            f"{{steps: [{{name: b, kind: ToolRun, toolRef: {{name: t}}}}, "
            f"{{{STEP}, toolRef: {{name: t}}, dependsOn: b}}]}}",
            "(write dependsOn: [b])",
            id="a-bare-step",
        ),
        pytest.param(
            f"{{steps: [{{{STEP}, toolRef: {{name: t}}, dependsOn: 7}}]}}",
            "(write dependsOn: [7])",
            id="a-number-for-a-list",
        ),
    ],
)
def test_a_value_of_the_wrong_type_has_a_hint_that_helps(spec, expected):
    """B10: what to write, from what stands there."""
    found = reported(linted(f"{HEAD}spec: {spec}\n"))
    assert any(item.endswith(expected) for item in found), found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("parameters.x ==", "the expression ends too early (line 1, column 16)", id="an-end"),
        pytest.param("(true", ") is missing (line 1, column 6)", id="a-bracket"),
        pytest.param("true ? 1", "the expression ends where : is expected (line 1, column 9)", id="a-choice"),
        pytest.param(
            "parameters.x = 1", "a single = is not an operator; write == (line 1, column 14)", id="equals"
        ),
        pytest.param("foo == 1", '"foo" is not known (line 1, column 1)', id="a-name"),
        pytest.param("1 +* 2", '"*" is not expected here (line 1, column 4)', id="an-operator"),
        pytest.param(
            "parameters.x == 'a",
            "text is not closed: a quotation mark is missing (line 1, column 17)",
            id="a-quote",
        ),
        pytest.param("1 + 'a'", "+ does not work with int, string (line 1, column 3)", id="types"),
        pytest.param("@", '"@" is not part of CEL (line 1, column 1)', id="a-character"),
    ],
)
def test_an_error_in_a_condition_is_one_plain_sentence(source, expected):
    """B10: with its place, without the grammar of the parser."""
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        compile_when(source)


def test_a_phrase_that_no_one_knows_is_passed_on_without_the_grammar():
    assert plain_problem("Syntax error: odd thing expecting {'[', NUM_INT} at line 2, column 3") == (
        "odd thing (line 2, column 3)"
    )


@pytest.mark.parametrize(
    "text", ["", "# nothing but a comment\n", "---\n---\n"], ids=["empty", "comment", "marks"]
)
def test_a_named_file_without_objects_is_an_error(text):
    """B10: most likely it is the wrong file; in a directory it is skipped."""
    report = linted(text)
    assert [(str(finding.reason), finding.message) for finding in report.findings] == [
        ("NoObjects", "the file holds no objects")
    ]
    assert report.errors == 1
    assert linted(text, named=False).findings == ()
