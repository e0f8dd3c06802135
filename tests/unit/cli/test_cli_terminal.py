"""What reaches a terminal: color only where it is wanted, nothing that could steer it."""

import io

import pytest

from jangar.cli.manifests import finding_lines
from jangar.cli.terminal import (
    folded,
    has_box_characters,
    has_color,
    printable,
    without_control,
    write_lines,
)
from jangar.lint.finding import Finding, Severity
from jangar.lint.reasons import FileReason
from jangar.lint.source_positions import Position


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


FINDING = Finding(
    file="a.yaml",
    position=Position(3, 7),
    reason=FileReason.DUPLICATE_KEY,
    message="wrong",
    fix="mend it",
    field="spec.x",
    kind="Tool",
    name="make",
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain ☃ text", "plain ☃ text", id="text"),
        pytest.param("\x1b[2Jgone", r"\x1b[2Jgone", id="escape-sequence"),
        pytest.param("a\nb\tc\r", r"a\nb\tc\r", id="line-breaks"),
        pytest.param("evil\u202etxt", r"evil\u202etxt", id="right-to-left-override"),
        pytest.param("\u200b\ufeff", r"\u200b\ufeff", id="invisible"),
    ],
)
def test_text_of_files_cannot_steer_the_terminal(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("stream", "environment", "expected"),
    [
        pytest.param(Screen(), {}, True, id="terminal"),
        pytest.param(Screen(), {"NO_COLOR": "1"}, False, id="declined"),
        pytest.param(Screen(), {"NO_COLOR": ""}, True, id="empty-is-not-declined"),
        pytest.param(Screen(), {"TERM": "dumb"}, False, id="dumb-terminal"),
        pytest.param(io.StringIO(), {}, False, id="pipe"),
    ],
)
def test_color_is_for_terminals_that_want_it(monkeypatch, stream, environment, expected):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert has_color(stream) is expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext", "plain\ttext"),
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        ("\x1b[31mred", "\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H"),
        ("\x9b2J", "\\x9b2J"),
        ("safe\rfake", "safe\\rfake"),
        ("windows\r", "windows"),
        ("\u202eevil", "\\u202eevil"),
        ("ümlaut\u00a0日本", "ümlaut\u00a0日本"),
    ],
)
def test_texts_of_users_cannot_steer_the_terminal(text, shown):
    """E15: colors pass, and nothing else that a terminal would obey."""
    assert without_control(text) == shown


@pytest.mark.parametrize(("is_terminal", "shown"), [(True, "\\x1b[2J\n"), (False, "\x1b[2J\n")])
def test_a_file_gets_every_byte_and_a_terminal_no_command(is_terminal, shown):
    """E15: `jangar logs` into a file is the log; on a terminal it is text."""

    class Stream(io.StringIO):
        def isatty(self):
            return is_terminal

    stream = Stream()
    write_lines(["\x1b[2J"], to=stream)
    assert stream.getvalue() == shown


def test_a_finding_is_one_line_as_compilers_write_it():
    assert list(finding_lines([FINDING], color=False)) == [
        "a.yaml:3:7: error: Tool/make: spec.x: wrong (mend it)"
    ]


def test_color_changes_nothing_but_color():
    (line,) = finding_lines([FINDING], color=True)
    assert line == "\x1b[1ma.yaml:3:7:\x1b[0m \x1b[31m\x1b[1merror:\x1b[0m Tool/make: spec.x: wrong (mend it)"


def test_a_finding_without_object_or_field_leaves_them_out():
    bare = Finding(
        file="a.yaml",
        position=Position(1, 1),
        reason=FileReason.TOO_LARGE,
        message="big",
        severity=Severity.WARNING,
    )
    assert list(finding_lines([bare], color=False)) == ["a.yaml:1:1: warning: big"]


@pytest.mark.parametrize(("encoding", "expected"), [("utf-8", True), ("ascii", False), ("latin-1", False)])
def test_boxes_need_an_encoding_that_has_them(encoding, expected):
    assert has_box_characters(io.TextIOWrapper(io.BytesIO(), encoding=encoding)) is expected


def test_a_sentence_breaks_between_words():
    """A path or a name stays whole, so that it can be copied."""
    path = "/a/very/long/path/that/is/wider/than/the/terminal.yaml"
    assert folded(f"cannot read {path}: no such file", 30) == [
        "cannot read",
        f"  {path}:",
        "  no such file",
    ]
    assert folded("short", 80) == ["short"]
    assert folded("", 80) == [""]
