import pytest

from picokube.schema import JsonPath, JsonPathError

OBJ = {
    "metadata": {"name": "x", "annotations": {"a.b/c": "dotted"}},
    "spec": {
        "a": {"b": 1},
        "list": [{"n": "one", "v": 1}, {"n": "two", "v": 2}, {"n": "three"}],
        "empty": None,
    },
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "Failed (all)", "status": "False"},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        pytest.param(".spec.a.b", [1], id="fields"),
        pytest.param("spec.a.b", [1], id="no-leading-dot"),
        pytest.param("{.spec.a.b}", [1], id="braces"),
        pytest.param("$.spec.a.b", [1], id="root"),
        pytest.param(r".metadata.annotations.a\.b/c", ["dotted"], id="escaped-dot"),
        pytest.param(".metadata.annotations['a.b/c']", ["dotted"], id="quoted"),
        pytest.param('.metadata.annotations["a.b/c"]', ["dotted"], id="double-quoted"),
        pytest.param(".spec.list[0].n", ["one"], id="index"),
        pytest.param(".spec.list[-1].n", ["three"], id="from-the-end"),
        pytest.param(".spec.list[9].n", [], id="no-such-item"),
        pytest.param(".spec.list[*].n", ["one", "two", "three"], id="all-items"),
        pytest.param(".spec.list[0:2].n", ["one", "two"], id="slice"),
        pytest.param(".spec.list[0,2].n", ["one", "three"], id="union"),
        pytest.param(".spec.a.*", [1], id="all-fields"),
        pytest.param("..n", ["one", "two", "three"], id="everything-below"),
        pytest.param('.status.conditions[?(@.type=="Ready")].status', ["True"], id="filter"),
        pytest.param(
            ".status.conditions[?(@.type == 'Failed (all)')].status", ["False"], id="filter-odd-text"
        ),
        pytest.param(".spec.list[?(@.v>1)].n", ["two"], id="filter-greater"),
        pytest.param(".spec.list[?(@.v<=1)].n", ["one"], id="filter-at-most"),
        pytest.param(".spec.list[?(@.v!=1)].n", ["two"], id="filter-unequal"),
        pytest.param(".spec.list[?(@.v)].n", ["one", "two"], id="filter-exists"),
        pytest.param(".spec.gone.b", [], id="missing"),
        pytest.param(".spec.a.b.c", [], id="through-a-number"),
        pytest.param(".spec.empty", [None], id="null"),
        pytest.param(".", [OBJ], id="the-object-itself"),
    ],
)
def test_a_path_leads_to_its_values(path, values):
    """The dialect of printer columns and of `kubectl wait`."""
    assert JsonPath.of(path).values(OBJ) == values
    assert JsonPath.of(path).first(OBJ) == (values[0] if values else None)


@pytest.mark.parametrize(
    "path",
    [
        "{.spec",
        ".spec}",
        ".spec[",
        ".spec[abc]",
        ".spec[?(@.a==b)]",
        ".spec[]",
        ".a b",
        "..",
        ".a\x00[",
        "." * 5000,
    ],
)
def test_a_path_that_cannot_be_read_is_refused(path):
    """At once, when the column is declared."""
    with pytest.raises(JsonPathError):
        JsonPath.of(path)
