import time

import pytest

from picokube.schema.errors import OMITTED, ErrorType, FieldError
from picokube.schema.formats import FORMATS
from picokube.schema.go_text import as_json, format_number, go_quote
from picokube.schema.patterns import matcher


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "1.5"), (100.0, "100"), (1e20, "100000000000000000000"), (1e21, "1e+21"), (0.0001, "0.0001"),
        (0.00001, "1e-05"), (-2.5e30, "-2.5e+30"), (0.0, "0"), (5e-324, "5e-324"), (12, "12"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_go_writes_them(value, text):
    """With an exponent only where Go has one."""
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param('a"b', '"a\\"b"', id="quote"),
        pytest.param("a\\b\n\x01", '"a\\\\b\\n\\x01"', id="control"),
        pytest.param("é😀", '"é😀"', id="printable"),
        pytest.param("\u200b", '"\\u200b"', id="invisible"),
    ],
)
def test_text_is_quoted_as_go_quotes_it(value, text):
    """The %q of its format strings."""
    assert go_quote(value) == text


def test_json_is_written_as_go_writes_it():
    """Sorted, with HTML characters escaped and whole floats as integers."""
    assert as_json({"b": 2.0, "a": ["<&>", None]}) == '{"a":["\\u003c\\u0026\\u003e",null],"b":2}'


@pytest.mark.parametrize("value", [2**80, "\ud800", {"a": "\ud800"}, {"a": 2**80}, object()])
def test_values_without_json_are_still_shown(value):
    """A message about them must not fail."""
    assert FieldError(type=ErrorType.INVALID, field="a", bad_value=value, detail="d").message.endswith(": d")


def test_an_omitted_value_is_not_shown():
    """Rules about whole objects do not print them."""
    error = FieldError(type=ErrorType.INVALID, field="spec", bad_value=OMITTED, detail="why")
    assert error.message == "spec: Invalid value: why"


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("datetime", "2024-01-31T23:59:59.5+02:00", "2024-02-30T00:00:00Z"),
        ("datetime", "2024-01-31t00:00:00z", "2024-01-31 00:00:00Z"),
        ("date", "2024-02-29", "2023-02-29"),
        ("duration", "1h30m", "soon"),
        ("duration", "3 days", ""),
        ("uuid", "123E4567-e89b-12d3-a456-426614174000", "123"),
        ("uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("email", "Ann <a@b.example>", "a@"),
        ("hostname", "a-b.example", "-a"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv6", "::1", "::g"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
        ("byte", "YWJj", "YWJ"),
        ("uri", "https://a.example/x?y", "not a uri"),
        ("mac", "00:1a:2B:3c:4d:5e", "00:1a"),
        ("hexcolor", "#fff", "#ffff"),
        ("rgbcolor", "rgb(0, 10,255)", "rgb(0,0,256)"),
        ("isbn10", "0321751043", "0321751044"),
        ("isbn13", "978-0321751041", "9780321751042"),
        ("creditcard", "4111 1111 1111 1111", "4111111111111112"),
        ("ssn", "111-22-3333", "111"),
        ("k8sshortname", "a-b", "A"),
        ("k8slongname", "a.b-c", "a..b"),
        ("bsonobjectid", "507f1f77bcf86cd799439011", "507f"),
    ],
)
def test_formats_tell_good_from_bad(name, good, bad):
    """Every format a CustomResourceDefinition may use."""
    assert FORMATS[name](good)
    assert not FORMATS[name](bad)


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize(
    "text", ["1" * 50_000, "a." * 25_000, "a" * 50_000 + "!", "-" * 50_000, "@" * 50_000]
)
def test_no_format_takes_long_for_any_text(name, text):
    """Users choose the text."""
    started = time.monotonic()
    FORMATS[name](text)
    assert time.monotonic() - started < 0.5


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        pytest.param(r"^\d+$", "12", "١٢", id="digits-are-ascii"),
        pytest.param(r"^a$", "a", "a\n", id="the-end-is-the-end"),
        pytest.param(r"^[[:alpha:]]+$", "ab", "a1", id="posix-class"),
        pytest.param(r"^\Qa.b\E$", "a.b", "axb", id="quoted"),
        pytest.param(r"(?i)^abc$", "ABC", "ABD", id="flags"),
        pytest.param(r"^\pL+$", "é", "1", id="unicode-class"),
        pytest.param(r"^(a+)+$", "a" * 100, "a" * 5000 + "b", id="no-backtracking"),
    ],
)
def test_patterns_mean_what_they_mean_to_go(pattern, good, bad):
    """RE2's syntax, in time linear to the text."""
    assert matcher(pattern)(good)
    assert not matcher(pattern)(bad)
