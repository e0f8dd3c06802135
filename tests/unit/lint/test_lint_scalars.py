"""Unquoted words mean what Kubernetes takes them for (sigs.k8s.io/yaml): YAML 1.1 less dates and base 60."""

import pytest

from jangar.lint.scalars import NumberRefused, plain_scalar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(pytest.param(text, True, id=text) for text in ("y", "Yes", "on", "ON", "true", "TRUE")),
        *(pytest.param(text, False, id=text) for text in ("n", "No", "off", "Off", "false")),
        *(pytest.param(text, None, id=text or "empty") for text in ("", "~", "null", "Null")),
        pytest.param("yEs", "yEs", id="mixed-case-is-text"),
        pytest.param("truely", "truely", id="longer-words-are-text"),
        pytest.param("0", 0, id="zero"),
        pytest.param("-17", -17, id="negative"),
        pytest.param("+5", 5, id="plus"),
        pytest.param("1_000", 1000, id="underscores"),
        pytest.param("010", 8, id="leading-zero-is-octal"),
        pytest.param("0o17", 15, id="octal"),
        pytest.param("08", 8, id="not-octal-is-decimal"),
        pytest.param("0x1F", 31, id="hexadecimal"),
        pytest.param("-0x10", -16, id="negative-hexadecimal"),
        pytest.param("0b101", 5, id="binary"),
        pytest.param("0x", "0x", id="prefix-alone-is-text"),
        pytest.param("9223372036854775807", 2**63 - 1, id="largest"),
        pytest.param("1.5", 1.5, id="fraction"),
        pytest.param(".5", 0.5, id="bare-fraction"),
        pytest.param("1e3", 1000, id="whole-exponent-is-whole"),
        pytest.param("1.0", 1, id="whole-fraction-is-whole"),
        pytest.param("1e25", 1e25, id="beyond-whole"),
        pytest.param("1e999", "1e999", id="beyond-float-is-text"),
        pytest.param("2024-01-31", "2024-01-31", id="date-is-text"),
        pytest.param("12:30:45", "12:30:45", id="base-60-is-text"),
        pytest.param("1.2.3", "1.2.3", id="version-is-text"),
        pytest.param("-", "-", id="dash"),
        pytest.param("٣", "٣", id="other-digits-are-text"),
    ],
)
def test_a_plain_word_has_the_value_kubernetes_gives_it(text, value):
    found = plain_scalar(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "9223372036854775808",
        "-9223372036854775809",
        "0xFFFFFFFFFFFFFFFF",
        "9" * 400,
        "9" * 100_000,
        ".nan",
        "-.inf",
    ],
    ids=["int64+1", "int64-1", "hex", "400-digits", "100k-digits", "nan", "inf"],
)
def test_a_number_that_json_cannot_carry_is_refused(text):
    with pytest.raises(NumberRefused):
        plain_scalar(text)
