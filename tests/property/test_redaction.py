"""Redaction removes Secret values in every form in which a program writes them."""

import base64
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jangar.controllers.log_tails import redact_tail
from jangar.runner.output import Mask
from kubekit.redaction import MAX_ENCODED_LINES, Redactor

lines = st.text(st.characters(exclude_categories=("C", "Z")), min_size=8, max_size=30)
values = st.lists(lines, min_size=1, max_size=4).map("\n".join)
edges = st.binary(max_size=7).map(lambda data: data.hex().encode())


def forms(text):
    """The forms in which programs write a value, named for failure messages."""
    data = text.encode()
    yield "plain", data
    yield "upper", text.upper().encode()
    yield "lower", text.lower().encode()
    yield "json", json.dumps(text).encode()[1:-1]
    yield "json with letters", json.dumps(text, ensure_ascii=False).encode()[1:-1]
    yield "json in json", json.dumps(json.dumps(text)).encode()[3:-3]
    for quoted in (quote(data, safe=""), quote(data), quote_plus(data)):
        yield "url", quoted.encode()
        yield "url in small letters", quoted.lower().encode()
    yield "hex", data.hex().encode()
    yield "HEX", data.hex().upper().encode()


@pytest.mark.rule("GC-6")
@given(values, edges, edges)
def test_every_form_of_a_value_is_redacted(value, before, after):
    """B14, E15: the value and each of its lines, plain, escaped or in hex; runner and history agree."""
    runner, history = Mask([value]), Redactor([value.encode()])
    for part in {value, *value.splitlines()}:
        for name, form in forms(part):
            shown = runner.data(before + form + after)
            assert form.lower() not in shown.lower(), name
            assert history.redact(before + form + after) == shown, name


@pytest.mark.rule("GC-6")
@given(values, st.binary(max_size=5), st.binary(max_size=5))
def test_base64_of_a_value_within_longer_data_is_redacted(value, before, after):
    """B14: at any alignment, whole or one line, in both alphabets, also in wrapped lines."""
    redactor = Redactor([value.encode()])
    for part in {value, *value.splitlines()}:
        data = part.encode()
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            shown = redactor.redact(encode(before + data + after))
            whole = encode(bytes(len(before)) + data)
            for start in range(0, len(whole) - 12, 4):
                aligned = start * 6 // 8 >= len(before)
                assert not aligned or whole[start : start + 12] not in shown
        wrapped = base64.encodebytes(data)
        kept = redactor.redact(wrapped)
        assert all(line not in kept for line in wrapped.split() if len(line.rstrip(b"=")) >= 8)


@pytest.mark.rule("GC-6")
@given(values, st.integers(min_value=4), st.booleans())
def test_a_tail_cut_within_a_value_shows_nothing_of_it(value, cut, at_start):
    """The log tail starts at any byte, also within a value or its hex form."""
    for data in (value.encode(), value.encode().hex().encode()):
        size = 4 + cut % (len(data) - 4)
        if at_start:
            assert redact_tail(data[-size:] + b" end", [value.encode()]) == b"*** end"
        else:
            assert redact_tail(b"begin " + data[:size], [value.encode()]) == b"begin ***"


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"a" * 1_000_000, id="one-letter"),
        pytest.param(b"a" * 999_999 + b"b", id="one-letter-but-the-last"),
        pytest.param(b"\n".join(b"%064d" % number for number in range(15_000)), id="many-lines"),
        pytest.param("é".encode() * 300_000, id="escaped"),
    ],
)
def test_redacting_the_largest_secret_takes_seconds_at_most(value):
    """E10: a tail of 256 KiB and a Secret of one MiB in the worst case for both."""
    tail = (value + value)[: 256 * 1024]
    began = time.process_time()
    shown = redact_tail(tail, [value])
    assert time.process_time() - began < 20
    assert value[:4096] not in shown


@pytest.mark.rule("GC-6")
def test_a_secret_with_very_many_lines_is_redacted_line_by_line():
    """Beyond the number of lines that are redacted in every form, each line is redacted as plain text, and the whole
    value in every form.
    """
    secret = [f"line-{number:06d}-{number * 7919:x}" for number in range(MAX_ENCODED_LINES + 10)]
    redactor = Redactor(["\n".join(secret).encode()])
    assert redactor.redact(f"read {secret[-1]}".encode()) == b"read ***"
    assert redactor.redact("\n".join(secret).encode().hex().encode()) == b"***"
