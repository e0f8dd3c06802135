"""How answers look: spans, tables, forms, and what a refusal tells the user."""

from datetime import UTC, datetime, timedelta

import pytest
import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.output.form import Form, Shape, object_lines, parse_form
from jangar.cli.output.spans import age, parse_span, span
from jangar.cli.output.table import table
from jangar.cli.refusals import refusal
from jangar.kube import errors

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
    rows = [("a", "", "x" * 40), ("longer", "2", "\x1b[2J")]
    assert table(("Name", "N", "Why"), rows)[1] == "a        -   " + "x" * 40
    cut = table(("Name", "N", "Why"), rows, width=30)
    assert cut[1] == "a        -   " + "x" * 16 + "…"
    assert "\x1b" not in "".join(cut)


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
    ("error", "code", "said"),
    [
        (errors.NotSent("refused"), ExitCode.UNREACHABLE, "cannot be reached"),
        (errors.Ambiguous("lost"), ExitCode.UNREACHABLE, "look before you repeat it"),
        (errors.NotFound('runs "x" not found'), ExitCode.NOT_FOUND, "jangar get"),
        (
            errors.NotFound("the server could not find the requested resource"),
            ExitCode.NOT_FOUND,
            "jangar crds",
        ),
        (errors.Forbidden("no"), ExitCode.FAILED, "ask whoever runs the cluster"),
        (errors.Conflict("changed"), ExitCode.FAILED, "try again"),
    ],
)
def test_every_refusal_says_what_to_do_next(error, code, said):
    """With its exit code."""
    message, found = refusal(error)
    assert found is code
    assert said in message


def test_what_is_no_refusal_is_not_swallowed():
    """A bug stays one."""
    assert refusal(ValueError("bug")) is None
