"""How answers look: spans, tables, forms, and what a refusal says."""

from datetime import UTC, datetime, timedelta

import pytest
import typer

from jangar.cli.error_messages import api_error_message
from jangar.cli.exit_codes import ExitCode
from jangar.cli.output.form import Form, Shape, object_lines, parse_form
from jangar.cli.output.spans import age, parse_span, span
from jangar.cli.output.table import cell_width, field_lines, fit, table, value_line
from kubekit.client import errors

NOW = datetime(2026, 1, 2, tzinfo=UTC)
OBJECT = {"apiVersion": "a.example/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {"n": [1, "two"]}}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0s"), (0.44, "0.4s"), (12.7, "12s"), (60, "1m"), (184, "3m4s"), (18000, "5h"), (187200, "2d4h")],
)
def test_a_span_has_few_characters(seconds, text):
    """Two units at most; tenths only below ten seconds."""
    assert span(timedelta(seconds=seconds)) == text


def test_an_age_has_no_tenths_and_is_never_negative():
    """Clocks differ."""
    assert age(NOW - timedelta(seconds=3.7), NOW) == "3s"
    assert age(NOW + timedelta(seconds=5), NOW) == "0s"
    assert (age(None, NOW), span(None)) == ("-", "-")


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("1h30m", 5400), ("2d", 172800), ("1w", 604800)])
def test_a_span_is_read_back(text, seconds):
    """Units may be combined."""
    assert parse_span(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "soon", "5", "-5m", "5 m", "1h 30m"])
def test_what_is_no_span_is_refused_with_an_example(text):
    """The message shows how to write one."""
    with pytest.raises(ValueError, match="1h30m"):
        parse_span(text)


def test_a_table_is_aligned_and_cut_only_for_a_terminal():
    """Empty cells are a dash; escape sequences of objects do not reach the terminal."""
    rows = [("a", "", "a sentence of a good many words"), ("longer", "2", "\x1b[2J")]
    assert table(("Name", "N", "Why"), rows)[1] == "a        -   a sentence of a good many words"
    cut = table(("Name", "N", "Why"), rows, width=36)
    assert cut[1] == "a       -  a sentence of a good man…"
    assert "\x1b" not in "".join(cut)


HEADS = ("Namespace", "Name", "Phase", "Steps", "Orchestration", "Age", "Reason")
ROWS = [
    ("default", "nightly-release-of-everything-1", "Succeeded", "12/12", "nightly-release", "3m4s", ""),
    ("team-a", "x" * 63, "Cancelling", "3/400", "y" * 63, "59m59s", "DependencyFailed"),
    (
        "team-b",
        "名" * 30,
        "Running",
        "0/1",
        "名前" * 10,
        "1s",
        "waits for a free slot: 4 of 4 parallel steps are running",
    ),
]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 132, 200])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_line_of_a_table_never_exceeds_the_terminal(width, wrapped):
    """A terminal would wrap it inside a word. Wide characters take two columns."""
    lines = table(HEADS, ROWS, width=width, wrapped=wrapped, optional=("Orchestration", "Age"))
    assert max(map(cell_width, lines)) <= width


def test_names_are_the_last_to_be_shortened_and_optional_columns_go_first():
    """A name can be copied from a terminal of 80 columns; a long one keeps its beginning and its end."""
    lines = table(HEADS, ROWS[:1], width=80, optional=("Orchestration",))
    assert "nightly-release-of-everything-1" in lines[1]
    narrow = table(HEADS, ROWS[:2], width=80, optional=("Orchestration",))
    assert "ORCHESTRATION" not in narrow[0]
    assert table(("Name",), [("a-" + "x" * 40 + "-z",)], width=11)[1] == "a-xxx…xxx-z"


def test_the_last_column_wraps_between_words():
    """The words of an explanation stay whole."""
    lines = table(
        ("Step", "Why"), [("build", "waits for compile (Running) and lint (Pending)")], width=40, wrapped=True
    )
    assert lines[1:] == ["build  waits for compile (Running) and", "       lint (Pending)"]


def test_lines_of_one_layout_stay_aligned_whatever_comes():
    """B7: `list --watch` prints rows that it could not foresee."""
    layout = fit(("Name", "Phase", "Why"), [("short", "Running", "-")], width=40)
    late = layout.lines(["a-name-that-is-much-longer", "Succeeded", "because"])
    assert late[0].index("because") == layout.lines(["short", "Running", "because"])[0].index("because")


def test_a_long_value_is_cut_and_says_how_long_it_is():
    """Inputs and outputs are bounded; one line each, whatever they hold."""
    assert value_line("in ", "a", "b\nc", width=None) == r"in a=b\nc"
    piped = value_line("", "text", "x" * 5000, width=None)
    assert len(piped) < 450
    assert piped.endswith("… (5,000 characters)")
    shown = value_line("    in   ", "text", "word " * 40, width=80)
    assert len(shown) <= 80
    assert shown.endswith("… (200 characters)")


def test_fields_wrap_under_their_value():
    """The message of a run is a sentence that may be long."""
    lines = field_lines(
        {"Phase": "Failed", "Message": "step compile failed with exit code 3", "Gone": ""}, width=40
    )
    assert lines == [
        "Phase:         Failed",
        "Message:       step compile failed with",
        "               exit code 3",
    ]


def test_forms_are_named_when_one_is_wrong():
    """A path needs its word."""
    assert parse_form("jsonpath={.spec.n}") == Form(Shape.JSONPATH, "{.spec.n}")
    with pytest.raises(typer.BadParameter, match="jsonpath=PATH"):
        parse_form("jsonpath")


def test_objects_for_scripts():
    """One as itself, several as a List."""
    assert object_lines(parse_form("name"), [OBJECT], is_one=True) == ["thing.a.example/x"]
    assert object_lines(parse_form("jsonpath={.spec.n[*]}"), [OBJECT], is_one=True) == ["1", "two"]
    assert object_lines(parse_form("jsonpath=.items[0].kind"), [OBJECT], is_one=False) == ["Thing"]
    assert object_lines(parse_form("yaml"), [OBJECT], is_one=True)[0].startswith("apiVersion: a.example/v1\n")


@pytest.mark.parametrize(
    ("error", "code", "expected"),
    [
        (errors.NotSent("refused"), ExitCode.UNREACHABLE, "cannot be reached"),
        (errors.Ambiguous("lost"), ExitCode.UNREACHABLE, "check before retrying"),
        (errors.NotFound('runs "x" not found'), ExitCode.NOT_FOUND, "jangar get"),
        (
            errors.NotFound("the server could not find the requested resource"),
            ExitCode.NOT_FOUND,
            "jangar crds",
        ),
        (errors.Forbidden("no"), ExitCode.FAILED, "ask a cluster administrator"),
        (errors.Conflict("changed"), ExitCode.FAILED, "try again"),
    ],
)
def test_every_refusal_says_what_to_do_next(error, code, expected):
    """With its exit code."""
    message, found = api_error_message(error)
    assert found is code
    assert expected in message


def test_what_is_no_refusal_is_not_swallowed():
    """A bug stays one."""
    assert api_error_message(ValueError("bug")) is None
