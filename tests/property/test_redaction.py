"""Secret values do not survive redaction, whatever form a program writes them in."""

import base64
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jangar.controllers.log_tails import redact_tail
from jangar.runner.masking import Mask
from kubekit.redaction.forms import MAX_ENCODED_LINES
from kubekit.redaction.redactor import Redactor

lines = st.text(st.characters(exclude_categories=("C", "Z")), min_size=8, max_size=30)
values = st.lists(lines, min_size=1, max_size=4).map("\n".join)
edges = st.binary(max_size=7).map(lambda data: data.hex().encode())


def forms(text):
    """As programs write it: each with a name for the failure."""
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
def test_no_form_of_a_value_survives(value, before, after):
    """B14, E15: neither the value nor one of its lines, plain, escaped or in hex; runner and history agree."""
    runner, history = Mask([value]), Redactor([value.encode()])
    for part in {value, *value.splitlines()}:
        for name, form in forms(part):
            shown = runner.data(before + form + after)
            assert form.lower() not in shown.lower(), name
            assert history.redact(before + form + after) == shown, name


@pytest.mark.rule("GC-6")
@given(values, st.binary(max_size=5), st.binary(max_size=5))
def test_no_base64_of_a_value_survives_within_something_longer(value, before, after):
    """B14: at any alignment, of the whole and of one line, in both alphabets, also where lines are wrapped."""
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
def test_a_tail_that_was_cut_within_a_value_shows_nothing_of_it(value, cut, at_start):
    """The log's tail begins at any byte, also within a value or its hex form."""
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
def test_the_largest_secret_costs_seconds_at_most(value):
    """E10: a tail of 256 KiB against a Secret of one MiB, both as unfavorable as they can be."""
    tail = (value + value)[: 256 * 1024]
    begun = time.process_time()
    shown = redact_tail(tail, [value])
    assert time.process_time() - begun < 20
    assert value[:4096] not in shown


@pytest.mark.rule("GC-6")
def test_a_secret_of_very_many_lines_is_known_line_by_line():
    """Of more lines than are known in every form, each is known plain, and the whole in every form."""
    secret = [f"line-{number:06d}-{number * 7919:x}" for number in range(MAX_ENCODED_LINES + 10)]
    redactor = Redactor(["\n".join(secret).encode()])
    assert redactor.redact(f"read {secret[-1]}".encode()) == b"read ***"
    assert redactor.redact("\n".join(secret).encode().hex().encode()) == b"***"
