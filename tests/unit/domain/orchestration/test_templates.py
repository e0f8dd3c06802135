"""DAG-11: the grammar of `{{ }}` in `with` and `outputs`, and how holes are filled."""

import time
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jangar.domain.orchestration.templates import (
    MissingInput,
    OutputRef,
    ParameterRef,
    Template,
    TemplateProblem,
    parse_template,
    render,
)

pytestmark = pytest.mark.rule("DAG-11")

NAMED = "expected parameters.NAME or steps.STEP.outputs.NAME, found "
CLOSED = "{{ is never closed with }}"
ENDED = 'expected }} or ?? "default", found '


@dataclass
class Values:
    parameters: dict = field(default_factory=dict)
    outputs: dict = field(default_factory=dict)

    def parameter(self, name):
        return self.parameters.get(name)

    def output(self, step, name):
        return self.outputs.get((step, name))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param("", (), id="empty"),
        pytest.param("plain", ("plain",), id="literal"),
        pytest.param("a }} b", ("a }} b",), id="closing-braces-alone-are-text"),
        pytest.param("{ a } {", ("{ a } {",), id="single-braces-are-text"),
        pytest.param("${HOME} $(x) %s", ("${HOME} $(x) %s",), id="other-notations-are-text"),
        pytest.param("{{ parameters.x }}", (ParameterRef(name="x"),), id="parameter"),
        pytest.param("{{parameters.x}}", (ParameterRef(name="x"),), id="no-spaces"),
        pytest.param("{{ \t\r\n parameters.x \t\r\n }}", (ParameterRef(name="x"),), id="any-space"),
        pytest.param("{{ parameters.a.b-c_D.0 }}", (ParameterRef(name="a.b-c_D.0"),), id="dotted-parameter"),
        pytest.param(
            "{{ parameters.outputs }}", (ParameterRef(name="outputs"),), id="parameter-named-outputs"
        ),
        pytest.param(
            "{{ steps.build.outputs.image }}", (OutputRef(step="build", name="image"),), id="output-of-a-step"
        ),
        pytest.param(
            "{{ steps.Build-x_1.outputs.a.b-c }}",
            (OutputRef(step="Build-x_1", name="a.b-c"),),
            id="dotted-output",
        ),
        pytest.param(
            "{{ steps.outputs.outputs.outputs }}",
            (OutputRef(step="outputs", name="outputs"),),
            id="named-outputs",
        ),
        pytest.param(
            '{{ parameters.x ?? "d" }}', (ParameterRef(name="x", default="d"),), id="double-quoted-default"
        ),
        pytest.param(
            "{{ parameters.x ?? 'd' }}", (ParameterRef(name="x", default="d"),), id="single-quoted-default"
        ),
        pytest.param(
            '{{parameters.x??"d"}}', (ParameterRef(name="x", default="d"),), id="default-without-spaces"
        ),
        pytest.param('{{ parameters.x ?? "" }}', (ParameterRef(name="x", default=""),), id="empty-default"),
        pytest.param(
            "{{ parameters.x ??\n'}} {{ \" ' }}",
            (ParameterRef(name="x", default='}} {{ " '),),
            id="default-may-hold-braces-and-the-other-quote",
        ),
        pytest.param(
            r"""{{ parameters.x ?? "a\"b\'c\\d\ne" }}""",
            (ParameterRef(name="x", default="a\"b'c\\d\ne"),),
            id="escapes",
        ),
        pytest.param(
            '{{ steps.a.outputs.y ?? "n" }}',
            (OutputRef(step="a", name="y", default="n"),),
            id="output-with-default",
        ),
        pytest.param(
            '{"k":{{ parameters.x }}}',
            ('{"k":', ParameterRef(name="x"), "}"),
            id="brace-after-a-hole-is-text",
        ),
        pytest.param(
            "a{{ parameters.x }}{{ steps.s.outputs.y }}b\n",
            ("a", ParameterRef(name="x"), OutputRef(step="s", name="y"), "b\n"),
            id="many-parts-in-order",
        ),
    ],
)
def test_text_is_split_into_literals_and_references(text, parts):
    """DAG-11: literal text is kept exactly; holes are parameters and outputs, with or without default."""
    assert parse_template(text) == Template(source=text, parts=parts)


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        pytest.param("{{", 0, CLOSED, id="open-at-the-end"),
        pytest.param("ab {{ \n", 3, CLOSED, id="open-then-space"),
        pytest.param("{{ parameters.x", 0, CLOSED, id="open-then-path"),
        pytest.param("{{ parameters.x  ", 0, CLOSED, id="open-then-path-and-space"),
        pytest.param("{{ parameters.x ??", 0, CLOSED, id="open-then-else"),
        pytest.param("{{ parameters.x ?? ", 0, CLOSED, id="open-then-else-and-space"),
        pytest.param("{{ parameters.x ?? 'a' ", 0, CLOSED, id="open-then-default"),
        pytest.param("{{ parameters.x ?? 'a", 19, "the quoted default is never closed", id="open-quote"),
        pytest.param(
            "{{ parameters.x ?? 'a\"", 19, "the quoted default is never closed", id="the-other-quote"
        ),
        pytest.param("{{ parameters.x ?? 'a\\", 19, "the quoted default is never closed", id="open-escape"),
        pytest.param(
            "{{ parameters.x ?? 'a\\'", 19, "the quoted default is never closed", id="escaped-quote"
        ),
        pytest.param(
            r'{{ parameters.x ?? "a\t" }}',
            21,
            r"unknown escape in the quoted default; use \" \' \\ or \n",
            id="unknown-escape",
        ),
        pytest.param(
            "{{ parameters.x ?? }}", 19, "expected a quoted default after ??, found }}", id="no-default"
        ),
        pytest.param(
            "{{ parameters.x ?? y }}", 19, "expected a quoted default after ??, found y", id="bare-default"
        ),
        pytest.param("{{}}", 2, NAMED + "}}", id="nothing"),
        pytest.param("{{ }}", 3, NAMED + "}}", id="only-space"),
        pytest.param("{{ ?? 'a' }}", 3, NAMED + "??", id="only-default"),
        pytest.param("{{{ parameters.x }}}", 2, NAMED + "'{'", id="three-braces"),
        pytest.param("{{{{ parameters.x }}", 2, NAMED + "{{", id="four-braces"),
        pytest.param("{{ x }}", 3, NAMED + "x", id="neither-parameters-nor-steps"),
        pytest.param("{{ parameters }}", 3, NAMED + "parameters", id="parameters-without-name"),
        pytest.param("{{ parameters. }}", 3, NAMED + "parameters.", id="parameters-with-empty-name"),
        pytest.param("{{ parameters..x }}", 3, NAMED + "parameters..x", id="empty-part"),
        pytest.param("{{ parameters.x. }}", 3, NAMED + "parameters.x.", id="empty-last-part"),
        pytest.param("{{ Parameters.x }}", 3, NAMED + "Parameters.x", id="case-matters"),
        pytest.param("{{ steps }}", 3, NAMED + "steps", id="steps-alone"),
        pytest.param("{{ steps.a }}", 3, NAMED + "steps.a", id="step-alone"),
        pytest.param("{{ steps.a.outputs }}", 3, NAMED + "steps.a.outputs", id="outputs-without-name"),
        pytest.param("{{ steps.a.outputs. }}", 3, NAMED + "steps.a.outputs.", id="outputs-with-empty-name"),
        pytest.param("{{ steps.a.phase }}", 3, NAMED + "steps.a.phase", id="phase-is-not-data"),
        pytest.param("{{ steps.a.phase.x }}", 3, NAMED + "steps.a.phase.x", id="only-outputs-of-steps"),
        pytest.param("{{ x.a.outputs.y }}", 3, NAMED + "x.a.outputs.y", id="only-steps-have-outputs"),
        pytest.param("{{ " + "p" * 40 + " }}", 3, NAMED + "p" * 40, id="forty-characters-are-shown"),
        pytest.param("{{ " + "p" * 41 + " }}", 3, NAMED + "p" * 40 + "…", id="more-are-cut"),
        pytest.param("{{ parameters.x y }}", 16, ENDED + "y", id="two-words"),
        pytest.param("{{ parameters.x }", 16, ENDED + "'}'", id="one-closing-brace"),
        pytest.param("{{ parameters.x ? 'a' }}", 16, ENDED + "'?'", id="one-question-mark"),
        pytest.param(
            "{{ parameters.x\N{NO-BREAK SPACE}}}", 15, ENDED + r"'\xa0'", id="unseen-space-is-shown"
        ),
        pytest.param("{{ parameters.x | upper }}", 16, ENDED + "'|'", id="no-filters"),
        pytest.param("{{ parameters.x ?? 'a' b }}", 23, "expected }}, found b", id="more-after-the-default"),
        pytest.param("{{ parameters.x ?? 'a' ?? 'b' }}", 23, "expected }}, found ??", id="two-defaults"),
        pytest.param("{{ parameters.x }} {{ y }}", 22, NAMED + "y", id="second-hole"),
    ],
)
def test_anything_else_is_a_problem_with_its_position(text, position, message):
    """DAG-11: what is not in the grammar is refused, and the offset says where."""
    found = parse_template(text)
    line = text.count("\n", 0, position) + 1
    assert found == TemplateProblem(position=position, line=line, column=position + 1, message=message)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        pytest.param("{{ x }}", 1, 4, id="first-line"),
        pytest.param("\n{{ x }}", 2, 4, id="second-line"),
        pytest.param("one\ntwo\n  {{ x }}", 3, 6, id="third-line"),
        pytest.param("{{\n\nx }}", 3, 1, id="inside-the-braces"),
    ],
)
def test_a_problem_is_reported_by_line_and_column(text, line, column):
    """DAG-2: people count lines and columns from one."""
    assert str(parse_template(text)) == f"line {line}, column {column}: {NAMED}x"


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        pytest.param(ParameterRef(name="a.b", default="x"), "parameters.a.b", id="parameter"),
        pytest.param(OutputRef(step="a", name="b", default="x"), "steps.a.outputs.b", id="output"),
    ],
)
def test_a_reference_reads_as_it_was_written(reference, text):
    """DAG-11: messages name a reference as the user wrote it, without its default."""
    assert str(reference) == text


def test_references_are_reported_once_in_order():
    """DAG-11: a text that repeats a reference refers to it once; another default is another reference."""
    text = "{{ steps.b.outputs.y }} {{ parameters.x }} {{ steps.b.outputs.y }} {{ parameters.x ?? 'd' }}"
    assert parse_template(text).references == (
        OutputRef(step="b", name="y"),
        ParameterRef(name="x"),
        ParameterRef(name="x", default="d"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain }} text", "plain }} text", id="literal"),
        pytest.param("<{{ parameters.env }}>", "<prod>", id="parameter"),
        pytest.param("{{ steps.build.outputs.image }}:1", "repo/app:1", id="output"),
        pytest.param("{{ parameters.env ?? 'dev' }}", "prod", id="a-value-wins-over-the-default"),
        pytest.param("{{ parameters.empty ?? 'dev' }}", "", id="an-empty-value-is-a-value"),
        pytest.param("{{ parameters.none ?? 'dev' }}", "dev", id="default-of-a-parameter"),
        pytest.param("{{ steps.build.outputs.none ?? '' }}!", "!", id="default-of-an-output"),
        pytest.param("{{ parameters.evil }}", "{{ parameters.env }}", id="a-value-is-never-scanned-again"),
        pytest.param(
            "{{ parameters.open }}{ parameters.env }}", "{{ parameters.env }}", id="values-make-no-holes"
        ),
        pytest.param(
            "{{ parameters.none ?? '{{ parameters.env }}' }}", "{{ parameters.env }}", id="nor-defaults"
        ),
    ],
)
def test_holes_are_filled_with_values(text, expected):
    """DAG-11: references are replaced; what is put in stays data."""
    values = Values(
        parameters={"env": "prod", "empty": "", "evil": "{{ parameters.env }}", "open": "{"},
        outputs={("build", "image"): "repo/app"},
    )
    assert render(parse_template(text), values) == expected


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        pytest.param("{{ parameters.x }}", ParameterRef(name="x"), id="parameter"),
        pytest.param("a {{ steps.s.outputs.y }}", OutputRef(step="s", name="y"), id="output"),
        pytest.param(
            "{{ parameters.x ?? 'd' }}{{ parameters.y }}{{ parameters.z }}",
            ParameterRef(name="y"),
            id="the-first",
        ),
    ],
)
def test_a_missing_value_without_default_is_missing_input(text, reference):
    """DAG-11: never an empty string."""
    assert render(parse_template(text), Values()) == MissingInput(reference=reference)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.text(st.characters(exclude_characters="{")), st.text()), max_size=6), st.text())
def test_literals_and_values_are_kept_exactly(holes, tail):
    """DAG-11: whatever stands around holes and whatever fills them comes out unchanged."""
    tail = tail.replace("{", "")
    text = "".join(f"{before}{{{{ parameters.p{n} }}}}" for n, (before, _) in enumerate(holes)) + tail
    values = Values(parameters={f"p{n}": value for n, (_, value) in enumerate(holes)})
    assert render(parse_template(text), values) == "".join(before + value for before, value in holes) + tail


@settings(deadline=None, max_examples=50)
@given(st.text("{}?\"'\\ \n.-parametrsouxyn", max_size=60))
def test_any_text_is_a_template_or_a_problem_inside_it(text):
    """DAG-11: nothing a user writes makes the parser fail."""
    found = parse_template(text)
    if isinstance(found, TemplateProblem):
        assert "{{" in text[: found.position + 2]
        assert 0 <= found.position < len(text)
    else:
        assert found.source == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{{" * 1_000_000 + "x" * 8_000_000, id="a-million-opens"),
        pytest.param("{{" + " " * 10_000_000, id="spaces"),
        pytest.param("{{ parameters." + "a." * 5_000_000, id="a-long-path"),
        pytest.param("{{ parameters.x ?? '" + '"' * 10_000_000, id="a-long-default"),
        pytest.param("{{ parameters.x ?? '" + "\\\\" * 500_000, id="many-escapes"),
        pytest.param("}}{" * 3_000_000, id="almost-open"),
        pytest.param("{{ parameters.x }}" * 100_000, id="many-holes"),
    ],
)
def test_hostile_text_costs_linear_time(text):
    """DAG-11: ten megabytes made to hurt are read in about a second."""
    began = time.process_time()
    parse_template(text)
    assert time.process_time() - began < 2.0
