"""What the live view shows of a log: the text of an agent's events, never JSON."""

from pathlib import Path

import pytest

from jangar.cli.following.log_text import last_text, line_text

EVENTS = Path(__file__).parent / "agent_events"


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("claude-ok", "Bash: printf"),
        ("codex-ok-custom-provider", "$ /bin/bash -lc"),
        ("gemini-ok", "run_shell_command: printf"),
        ("opencode-ok", "bash: printf"),
    ],
)
def test_the_events_of_real_agents_are_reported_as_text(name, call):
    """Written by the CLIs themselves. Events without text are passed over."""
    lines = (EVENTS / f"{name}.jsonl").read_text().splitlines()
    texts = [line_text(line) for line in lines]
    assert last_text(lines) == "The file is written."
    assert any(text.startswith(call) for text in texts)
    assert not any("{" in text for text in texts)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("  compiling {a}", "  compiling {a}"),
        ('{"level":"info","msg":"listening"}', "listening"),
        ('{"type":"assistant","message":{"content":[{"type":"text","text":"first\\nlast\\n"}]}}', "last"),
        ('{"type":"turn.failed","error":{"message":"the model gave up"}}', "the model gave up"),
        ('{"type":"result","result":"cut in the mid', ""),
        ('{"level":"info"}', ""),
        ("[1, 2]", "[1, 2]"),
        ("", ""),
    ],
)
def test_a_line_as_a_person_reads_it(line, text):
    """Structured logs have their text in a field; JSON that was cut says nothing."""
    assert line_text(line) == text
