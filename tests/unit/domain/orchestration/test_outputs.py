"""DAG-11: what work writes as its result becomes outputs."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jangar.api.reasons import Reason
from jangar.domain.orchestration.outputs import MAX_BYTES, OutputsProblem, read_outputs, with_defaults

pytestmark = pytest.mark.rule("DAG-11")

BAD = "\N{REPLACEMENT CHARACTER}"


def nested(depth):
    """An object whose brackets are nested this deep."""
    return '{"a":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(b"", {}, id="nothing"),
        pytest.param(b" \r\n\t", {}, id="only-space"),
        pytest.param(b"{}", {}, id="empty-object"),
        pytest.param(b'{"image":"app:1","n":"2"}', {"image": "app:1", "n": "2"}, id="texts"),
        pytest.param('{"image":"app:1"}', {"image": "app:1"}, id="from-text"),
        pytest.param(b' \n{"a": "b"}\n', {"a": "b"}, id="space-around"),
        pytest.param(b'\xef\xbb\xbf{"a":"b"}', {"a": "b"}, id="byte-order-mark"),
        pytest.param(b'{"a":""}', {"a": ""}, id="empty-text"),
        pytest.param('{"ä":"ö\\u20ac"}'.encode(), {"ä": "ö€"}, id="unicode"),
        pytest.param(b'{"a":true,"b":false,"c":null}', {"a": "true", "b": "false", "c": "null"}, id="words"),
        pytest.param(
            b'{"a":1,"b":-2.50,"c":1E3}', {"a": "1", "b": "-2.50", "c": "1E3"}, id="numbers-as-written"
        ),
        pytest.param(b'{"a":1e999}', {"a": "1e999"}, id="beyond-a-float"),
        pytest.param(b'{"a":' + b"9" * 4000 + b"}", {"a": "9" * 4000}, id="beyond-an-int"),
        pytest.param(
            b'{"a": [1, "x y", {"k": null, "l": [ ]}], "b": { }}',
            {"a": '[1,"x y",{"k":null,"l":[]}]', "b": "{}"},
            id="nested-values-stay-json",
        ),
        pytest.param(
            '{"a":["ä\\n\\"",1.0]}'.encode(), {"a": '["ä\\n\\"",1.0]'}, id="nested-texts-are-quoted"
        ),
        pytest.param(b'{"a":1,"a":"2"}', {"a": "2"}, id="the-last-of-two-keys"),
        pytest.param(b'{"a":"x{[{[\\"{["}', {"a": 'x{[{["{['}, id="brackets-in-text"),
        pytest.param(b"hello", {"result": "hello"}, id="plain-text"),
        pytest.param(b"  two words \n", {"result": "  two words "}, id="last-line-break-is-dropped"),
        pytest.param(b"a\r\nb\r\n\n", {"result": "a\r\nb"}, id="inner-line-breaks-stay"),
        pytest.param(b"[1, 2]", {"result": "[1, 2]"}, id="a-list-is-text"),
        pytest.param(b'"quoted"', {"result": '"quoted"'}, id="a-json-string-is-text"),
        pytest.param(b"42", {"result": "42"}, id="a-number-is-text"),
        pytest.param(b'{"a":1} x', {"result": '{"a":1} x'}, id="more-after-the-object"),
        pytest.param(b"{oops}", {"result": "{oops}"}, id="almost-json"),
        pytest.param(b'{"a":NaN}', {"result": '{"a":NaN}'}, id="nan-is-not-json"),
        pytest.param(b'{"a":-Infinity}', {"result": '{"a":-Infinity}'}, id="infinity-is-not-json"),
        pytest.param(b"a\xffb", {"result": f"a{BAD}b"}, id="invalid-utf-8"),
        pytest.param(b'{"a":"\xff"}', {"a": BAD}, id="invalid-utf-8-in-a-value"),
        pytest.param("a\ud800", {"result": "a?"}, id="half-a-character-in-text"),
        pytest.param(b"a\0b", {"result": f"a{BAD}b"}, id="nul"),
        pytest.param(
            b'{"a\\ud800":"\\u0000\\udc00","b":["\\ud800"]}',
            {f"a{BAD}": BAD * 2, "b": f'["{BAD}"]'},
            id="escaped-halves-and-nul",
        ),
        pytest.param(b'{"a":"\\ud83d\\ude00"}', {"a": "\N{GRINNING FACE}"}, id="escaped-pairs-are-whole"),
        pytest.param(b'{"a":-0}', {"a": "-0"}, id="minus-zero-as-written"),
        pytest.param('{"a":"' + "[" * 150 + '"}', {"a": "[" * 150}, id="many-brackets-in-text"),
        pytest.param(
            '{"a":"\\"' + "{" * 150 + '"}', {"a": '"' + "{" * 150}, id="many-brackets-after-an-escaped-quote"
        ),
        pytest.param(
            '{"a":"\\\\","b":"' + "[" * 150 + '"}',
            {"a": "\\", "b": "[" * 150},
            id="many-brackets-after-an-escaped-backslash",
        ),
        pytest.param(
            '{"a":[[],' + "[" * 98 + "]" * 98 + "]}",
            {"a": "[[]," + "[" * 98 + "]" * 98 + "]"},
            id="deepest-allowed-after-another",
        ),
        pytest.param(
            '{"a":[[],' + "[" * 99 + "]" * 99 + "]}",
            {"result": '{"a":[[],' + "[" * 99 + "]" * 99 + "]}"},
            id="deeper-after-another",
        ),
        pytest.param(nested(100), {"a": "[" * 99 + "]" * 99}, id="deepest-allowed"),
        pytest.param(nested(101), {"result": nested(101)}, id="deeper-is-text"),
        pytest.param(nested(2000), {"result": nested(2000)}, id="much-deeper"),
        pytest.param("{" * 4096, {"result": "{" * 4096}, id="only-brackets"),
        pytest.param('{"a":[' + "[]," * 500 + "1]}", {"a": "[" + "[]," * 500 + "1]"}, id="many-but-not-deep"),
        pytest.param(
            '{"a":[' + "{}," * 500 + '"\\\\"]}',
            {"a": "[" + "{}," * 500 + '"\\\\"]'},
            id="many-objects-not-deep",
        ),
        pytest.param(
            '{"a":"\\\\","b":' + "[" * 100 + "]" * 100 + "}",
            {"result": '{"a":"\\\\","b":' + "[" * 100 + "]" * 100 + "}"},
            id="deep-after-an-escaped-backslash",
        ),
    ],
)
def test_a_result_becomes_outputs(raw, expected):
    """DAG-11: a JSON object gives outputs by name, its values that are no strings stay JSON, other text is `result`."""
    assert read_outputs(raw) == expected


@pytest.mark.parametrize(
    ("raw", "size"),
    [
        pytest.param(b"x" * 4096, None, id="as-much-as-allowed"),
        pytest.param(b"x" * 4097, 4097, id="a-byte-more"),
        pytest.param("ä" * 2048, None, id="bytes-are-counted"),
        pytest.param("ä" * 2049, 4098, id="not-characters"),
        pytest.param(b" " * 4097, 4097, id="space-counts"),
        pytest.param(b'{"a":"' + b"x" * 5000 + b'"}', 5008, id="an-object"),
    ],
)
def test_a_result_has_at_most_4096_bytes(raw, size):
    """DAG-11: more than 4,096 bytes are OutputsTooLarge."""
    found = read_outputs(raw)
    if size is None:
        assert found == {"result": raw if isinstance(raw, str) else raw.decode()}
    else:
        assert found == OutputsProblem(
            reason=Reason.OUTPUTS_TOO_LARGE,
            message=f"the result has {size} bytes; at most 4096 are allowed",
        )


@settings(deadline=None)
@given(
    st.one_of(st.binary(max_size=200), st.text(max_size=200), st.text('{}[]":,\\u0de8ntf1-. ', max_size=80))
)
def test_any_result_is_read(raw):
    """DAG-11: nothing that work writes makes reading fail, and every output can be stored."""
    found = read_outputs(raw)
    assert not isinstance(found, OutputsProblem)
    for name, value in found.items():
        assert "\0" not in (name + value).encode().decode()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4))
def test_values_read_back_as_what_was_written(members):
    """DAG-11: a string is itself, anything else is its JSON."""
    clean = json.loads(json.dumps(members).replace("\\u0000", "0"))
    assert len(json.dumps(clean)) <= MAX_BYTES
    for name, value in read_outputs(json.dumps(clean)).items():
        assert value == clean[name] if isinstance(clean[name], str) else json.loads(value) == clean[name]


def test_defaults_fill_what_was_not_written():
    """DAG-11: a declared default counts only where the work wrote nothing, an empty text included."""
    outputs = {"a": "1", "b": ""}
    assert with_defaults(outputs, {"b": "x", "c": "y"}) == {"a": "1", "b": "", "c": "y"}
    assert outputs == {"a": "1", "b": ""}


@pytest.mark.rule("DAG-11")
def test_a_result_that_may_have_been_cut_is_too_large():
    """A pod's status holds the last 4,096 bytes and does not say what is missing: half a value is never an output."""
    assert read_outputs("x" * 4095, may_be_cut=True) == {"result": "x" * 4095}
    assert read_outputs("x" * 4096, may_be_cut=True).reason == Reason.OUTPUTS_TOO_LARGE
