"""Reading YAML: values, flaws with their places, and documents that do not hide each other."""

import pytest
from lint_cases import flaws, values

from jangar.lint.documents import read_documents
from jangar.lint.source_positions import Position

TAB = (
    "1:1 InvalidSyntax: not valid YAML: found character that cannot start any token "
    "(while scanning for the next token)"
)
OPEN_QUOTE = (
    "2:1 InvalidSyntax: not valid YAML: found unexpected end of stream "
    "(while scanning a quoted scalar that begins 1 line above)"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("# only a comment\n---\n---\n", [], id="comments-and-separators"),
        pytest.param("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}], id="two-documents"),
        pytest.param("a: 1\n...\n---\nb: 2\n", [{"a": 1}, {"b": 2}], id="document-end-marker"),
        pytest.param("%YAML 1.1\n---\na: 1\n", [{"a": 1}], id="directive"),
        pytest.param("\ufeffa: 1\n", [{"a": 1}], id="byte-order-mark"),
        pytest.param("a: 1\r\nb: [x, z]\r\n", [{"a": 1, "b": ["x", "z"]}], id="windows-line-ends"),
        pytest.param("a: |\n  one\n  --- two\n", [{"a": "one\n--- two\n"}], id="block-text"),
        pytest.param(
            "a: '1'\nb: \"on\"\nc: !!str 5\n", [{"a": "1", "b": "on", "c": "5"}], id="quoted-is-text"
        ),
        pytest.param('a: !!int "5"\nb: !!float 2\nc: ! 7\n', [{"a": 5, "b": 2, "c": "7"}], id="tags"),
        pytest.param("a: &x {b: 1}\nc: *x\n", [{"a": {"b": 1}, "c": {"b": 1}}], id="alias"),
        pytest.param(
            "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n",
            [{"a": {"b": 1, "c": 2}, "d": {"c": 3, "b": 1}}],
            id="merge",
        ),
        pytest.param(
            "- &x {a: 1}\n- &y {a: 2, b: 3}\n- <<: [*x, *y]\n",
            [[{"a": 1}, {"a": 2, "b": 3}, {"a": 1, "b": 3}]],
            id="merge-of-several",
        ),
        pytest.param("名: ☃\n", [{"名": "☃"}], id="unicode"),
        pytest.param("&k key: 1\nb: *k\n", [{"key": 1, "b": "key"}], id="anchored-key"),
    ],
)
def test_yaml_has_the_values_kubernetes_reads(text, expected):
    assert flaws(text) == []
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\nb: 2\na: 3\n", ['3:1 DuplicateKey: duplicate key "a"'], id="duplicate-key"),
        pytest.param("\ta: 1\n", [TAB], id="tab"),
        pytest.param(
            "a: b: c\n",
            ["1:5 InvalidSyntax: not valid YAML: mapping values are not allowed in this context"],
            id="colon",
        ),
        pytest.param("a: 'x\n", [OPEN_QUOTE], id="open-quote"),
        pytest.param(
            "a: \x01\n",
            ["1:4 InvalidSyntax: not valid YAML: control characters are not allowed"],
            id="control",
        ),
        pytest.param(
            "on: 1\n",
            ["1:1 InvalidKey: a key must be text, and YAML reads on as a boolean"],
            id="boolean-key",
        ),
        pytest.param(
            "1: 1\n", ["1:1 InvalidKey: a key must be text, and YAML reads 1 as a number"], id="number-key"
        ),
        pytest.param(
            "~: 1\n", ["1:1 InvalidKey: a key must be text, and YAML reads ~ as null"], id="null-key"
        ),
        pytest.param(
            "a: {{ parameters.x }}\n",
            ["1:5 InvalidKey: a mapping or list cannot be a key"],
            id="bare-template",
        ),
        pytest.param("? [a]\n: b\n", ["1:3 InvalidKey: a mapping or list cannot be a key"], id="list-key"),
        pytest.param(
            "a: &x [1]\n*x : 2\n", ["2:1 InvalidKey: *x is not text and cannot be a key"], id="alias-key"
        ),
        pytest.param("a: *x\n", ["1:4 InvalidSyntax: unknown anchor *x"], id="unknown-anchor"),
        pytest.param(
            "a: &a [*a]\n", ["1:8 TooManyAliases: anchor &a contains itself"], id="anchor-in-itself"
        ),
        pytest.param(
            "a: {<<: 5}\n",
            ["1:9 InvalidKey: << needs a mapping or a list of mappings"],
            id="merge-of-a-number",
        ),
        pytest.param(
            "a: !!python/object:os.system x\n",
            ["1:4 UnsupportedTag: the tag !!python/object:os.system is not supported"],
            id="python-tag",
        ),
        pytest.param(
            "a: !thing {b: 1}\n", ["1:4 UnsupportedTag: the tag !thing is not supported"], id="mapping-tag"
        ),
        pytest.param("a: !!int x\n", ["1:4 UnsupportedTag: x is not !!int"], id="wrong-tag"),
        pytest.param(
            "a: .inf\n",
            ["1:4 InvalidNumber: not a number and infinity do not exist in JSON: .inf"],
            id="infinity",
        ),
        pytest.param(
            "a: 99999999999999999999\n",
            ["1:4 InvalidNumber: the number does not fit in 64 bits: 99999999999999999999"],
            id="beyond-64-bits",
        ),
        pytest.param(b"a: \xff\n", ["1:4 InvalidEncoding: the file is not UTF-8: byte 0xff"], id="latin-1"),
        pytest.param(
            "a: 1\n".encode("utf-16"), ["1:1 InvalidEncoding: the file is not UTF-8: byte 0xff"], id="utf-16"
        ),
        pytest.param("a: \0\n", ["1:4 InvalidEncoding: the file holds a NUL character"], id="nul"),
    ],
)
def test_a_flaw_is_reported_with_its_place(text, expected):
    assert flaws(text) == expected


def test_a_document_that_cannot_be_read_hides_no_other():
    text = "a: 1\n---\nb: [\n---\nc: 3\n---\nd: 'x\n"
    assert values(text) == [{"a": 1}, {"c": 3}]
    assert [flaw.partition(" ")[0] for flaw in flaws(text)] == ["4:1", "8:1"]


def test_the_first_of_two_equal_keys_counts_and_both_lines_are_known():
    content = read_documents(b"a: 1\nb: 2\na: 3\n")
    (flaw,) = content.documents[0].flaws
    assert content.documents[0].value == {"a": 1, "b": 2}
    assert (content.text.position(flaw.offset).line, content.text.position(flaw.first_offset).line) == (3, 1)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param((), Position(2, 1), id="document"),
        pytest.param(("spec",), Position(2, 1), id="key"),
        pytest.param(("spec", "steps", 1), Position(5, 5), id="item"),
        pytest.param(("spec", "steps", 1, "dependsOn", 0), Position(6, 17), id="flow-item"),
        pytest.param(("spec", "steps", 1, "nosuch"), Position(5, 5), id="absent-key-is-its-owner"),
        pytest.param(("spec", "steps", 7, "name"), Position(3, 3), id="absent-item-is-its-list"),
        pytest.param(("spec", 3), Position(2, 1), id="wrong-kind-of-part"),
        pytest.param(("b", "c"), Position(9, 7), id="behind-an-alias-is-where-it-is-written"),
        pytest.param(("d", "c"), Position(9, 7), id="merged-key"),
    ],
)
def test_every_field_has_a_place(path, expected):
    text = (
        "# head\nspec:\n  steps:\n  - name: a\n  - name: b\n    dependsOn: [a]\n"
        "\nx:\n  &x {c: 1}\nb: *x\nd: {<<: *x}\n"
    )
    assert read_documents(text.encode()).documents[0].position(path) == expected
