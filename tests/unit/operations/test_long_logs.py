"""Logs that are too long to show completely."""

from jangar.operations import step_logs


def test_a_log_that_is_too_long_says_how_much_is_left_out(monkeypatch):
    """The first line counts the omitted bytes; the rest are the last complete lines (B11)."""
    monkeypatch.setattr(step_logs, "MAX_LENGTH", 1024 * 1024)
    text = b"".join(b"%07d\n" % number for number in range(200_000))
    lines = step_logs._lines(text, None)
    assert lines[0] == "... 551,432 earlier bytes omitted; showing the last 1 MiB"
    assert (len(lines) - 1) * 8 == len(text) - 551_432
    assert lines[-1] == "0199999"
    assert step_logs._lines(text, 2) == ["0199998", "0199999"]
