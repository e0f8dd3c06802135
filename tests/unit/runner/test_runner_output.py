"""What a command writes: lines are bounded, secrets masked, numbers doubted."""

import base64
import json
import random

import orjson
import pytest

from jangar.runner.output import MAX_LINE_LENGTH, Lines, Mask
from jangar.runner.usage import MAX_DENIED, ToolCalls, UsageReader

CANARY = 'cánary-"7f3a"-9d'
TRIALS = 500
CLAUDE_OPENS = b'{"type":"system","subtype":"init"}'
CODEX_OPENS = b'{"type":"thread.started","thread_id":"t"}'


def fed(form, *lines):
    reader = UsageReader(form)
    for line in lines:
        reader.take(line if isinstance(line, bytes) else orjson.dumps(line))
    return reader


def test_a_line_longer_than_64_kib_goes_out_in_pieces():
    """Nothing is lost, and no more than a line and a piece is held."""
    output = []
    lines = Lines(Mask(), output.append)
    data = b"x" * (5 * MAX_LINE_LENGTH + 7) + b"\nshort\n"
    shown = b"".join(lines.take(data[at : at + 1000]) for at in range(0, len(data), 1000)) + lines.end()
    assert max(map(len, shown.split(b"\n"))) == MAX_LINE_LENGTH
    assert shown.replace(b"\n", b"") == data.replace(b"\n", b"")
    assert output == [None, b"short"]


def test_the_last_line_needs_no_end():
    lines = Lines(Mask())
    assert (lines.take(b"a\nb"), lines.end(), lines.end()) == (b"a\n", b"b\n", b"")


def test_a_secret_is_masked_however_its_bytes_arrive():
    """500 texts with the value at any place, also across the border of 64 KiB, read in chunks of any size."""
    mask = Mask([CANARY])
    value = CANARY.encode()
    for seed in range(TRIALS):
        rng = random.Random(seed)  # noqa: S311
        before = rng.choice(
            [
                0,
                3,
                MAX_LINE_LENGTH - len(value) // 2,
                MAX_LINE_LENGTH - 1,
                MAX_LINE_LENGTH + 5,
                2 * MAX_LINE_LENGTH - 4,
            ]
        )
        data = b"a" * before + value + b"b" * rng.randrange(100) + b"\n" * rng.randrange(2) + value
        lines, shown, at = Lines(mask), b"", 0
        while at < len(data):
            size = rng.choice([1, 7, 4096, MAX_LINE_LENGTH]) if len(data) - at < 200 else 4096
            shown += lines.take(data[at : at + size])
            at += size
        shown = (shown + lines.end()).replace(b"\n", b"")
        assert value not in shown, seed
        assert shown.count(b"***") == 2, seed


@pytest.mark.parametrize("before", ["", "u:", "me:", "bot:", "user:"])
def test_a_secret_within_something_that_is_encoded_is_masked(before):
    """Such as a name and a password in one header."""
    secret = "s3cr3t/+word"  # noqa: S105 - a canary
    text = base64.b64encode(f"{before}{secret}".encode()).decode()
    reported = Mask([secret]).text(f"Authorization: Basic {text}")
    assert "***" in reported
    assert base64.b64encode(secret.encode()).decode()[:8] not in reported
    assert Mask([secret]).text("?t=s3cr3t/%2bword") == "?t=***"


def test_a_key_of_several_lines_is_masked_line_by_line():
    mask = Mask(["-----BEGIN KEY-----\nMIIEabcdef12\nx\n-----END KEY-----\n"])
    assert mask.data(b"MIIEabcdef12") == b"***"
    assert mask.data(b"x") == b"x"


def test_short_values_are_words_and_stay():
    assert Mask(["abc", " "]).text("abc") == "abc"


def test_masked_json_is_json_and_else_as_it_was():
    """In strings however they are escaped, in names, in numbers; other numbers keep their digits."""
    mask = Mask([CANARY, "12345678"])
    text = (
        '{"n": 1.10, "a": "x ' + json.dumps(CANARY)[1:-1] + '", ' + json.dumps(CANARY) + ': 12345678, "u": 1}'
    )
    masked = mask.json(text)
    assert json.loads(masked) == {"n": 1.1, "a": "x ***", "***": "***", "u": 1}
    assert '"n": 1.10' in masked


def test_claude_code_reports_its_usage_at_its_end():
    result = {
        "type": "result",
        "num_turns": 3,
        "total_cost_usd": 0.5,
        "result": "Done.",
        "usage": {
            "input_tokens": 1,
            "output_tokens": 2,
            "cache_read_input_tokens": 3,
            "service_tier": "standard",
        },
    }
    output = fed("auto", CLAUDE_OPENS, {"type": "assistant"}, result)
    assert output.usage.counts == {"inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3, "turns": 3}
    assert (output.usage.cost_usd, output.last_message) == (0.5, "Done.")


def test_codex_reports_its_usage_turn_by_turn_as_a_total():
    turns = [{"type": "turn.completed", "usage": {"input_tokens": n, "output_tokens": n}} for n in (5, 9)]
    message = {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}}
    output = fed("auto", CODEX_OPENS, turns[0], message, turns[1])
    assert output.usage.counts == {"inputTokens": 9, "outputTokens": 9}
    assert output.last_message == "Done."


@pytest.mark.parametrize(
    "first", [b"hello", b"{}", b'{"type":"result","usage":{"input_tokens":1}}', b"[", b'{"type":']
)
def test_a_command_that_does_not_open_as_an_agent_reports_no_usage(first):
    """A line printed later, as from a file that it shows, is text."""
    forged = {"type": "result", "usage": {"input_tokens": 1}, "total_cost_usd": 1, "result": "forged"}
    output = fed(
        "auto",
        first,
        CLAUDE_OPENS,
        forged,
        CODEX_OPENS,
        {"type": "turn.completed", "usage": {"input_tokens": 1}},
    )
    assert (output.usage, output.last_message) == (None, None)


def test_one_format_does_not_speak_for_the_other():
    output = fed("codex", CODEX_OPENS, {"type": "result", "usage": {"input_tokens": 1}, "result": "x"})
    assert (output.usage, output.last_message) == (None, None)


def test_forged_numbers_are_left_out():
    """500 random results with values that are no count: only whole numbers in bounds are reported."""
    values = [-1, True, None, "9", 1.5, 10**13, 10**30, [], {}, float("inf"), 7, 0]
    for seed in range(TRIALS):
        rng = random.Random(seed)  # noqa: S311
        usage = {
            name: rng.choice(values)
            for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "other")
        }
        event = {
            "type": "result",
            "usage": rng.choice([usage, None, 5, [usage]]),
            "total_cost_usd": rng.choice([*values, -0.5, 10**7]),
            "num_turns": rng.choice(values),
            "result": rng.choice([None, 5, "", {"a": 1}, "x"]),
        }
        line = json.dumps(event).encode()
        output = fed("auto", CLAUDE_OPENS, line)
        if output.usage is not None:
            assert set(output.usage.counts.values()) <= {0, 7}, seed
            assert all(type(count) is int for count in output.usage.counts.values()), seed
            assert output.usage.cost_usd in {None, 0, 7, 1.5}, seed
        assert output.last_message in {None, "x"}, seed


def claude_result(call, *, is_error):
    part = {"type": "tool_result", "tool_use_id": call, "content": "text", "is_error": is_error}
    return {"type": "user", "message": {"role": "user", "content": [part]}}


def test_the_tool_calls_of_claude_code_are_counted():
    """A1: a denied call is reported before its result, and counts as failed."""
    reader = fed(
        "auto",
        CLAUDE_OPENS,
        claude_result("a", is_error=False),
        claude_result("b", is_error=True),
        {"type": "system", "subtype": "permission_denied", "tool_use_id": "c"},
        claude_result("c", is_error=True),
        {"type": "user", "message": {"role": "user", "content": "no list"}},
        {"type": "user", "message": None},
    )
    assert reader.tools == ToolCalls(total=3, failed=2, denied=1)


def test_the_tool_calls_of_codex_are_counted():
    """A1: commands, changes of files and calls of MCP tools are; messages and reasoning are none."""
    reported = [
        ("command_execution", "completed"),
        ("command_execution", "failed"),
        ("command_execution", "declined"),
        ("file_change", "failed"),
        ("mcp_tool_call", "completed"),
        ("agent_message", None),
        ("reasoning", None),
        ("error", None),
    ]
    items = [
        {"type": "item.completed", "item": {"type": kind, "status": status}} for kind, status in reported
    ]
    started = {"type": "item.started", "item": {"type": "command_execution", "status": "in_progress"}}
    reader = fed("auto", CODEX_OPENS, started, *items, {"type": "item.completed", "item": None})
    assert reader.tools == ToolCalls(total=5, failed=3, denied=1)


@pytest.mark.parametrize(("opens", "calls"), [(CLAUDE_OPENS, 1), (CODEX_OPENS, 1), (b"plain text", 0)])
def test_a_line_too_long_to_read_counts_as_a_call_that_went_well(opens, calls):
    reader = fed("auto", opens)
    reader.take(None)
    assert reader.tools == ToolCalls(total=calls)


def test_denials_without_results_do_not_pile_up():
    reader = fed("auto", CLAUDE_OPENS)
    for number in range(3 * MAX_DENIED):
        denied = {"type": "system", "subtype": "permission_denied", "tool_use_id": f"c{number}"}
        reader.take(orjson.dumps(denied))
    assert len(reader._denied) == MAX_DENIED
