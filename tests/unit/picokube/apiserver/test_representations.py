"""Forms of objects: which one an Accept header means, and what each looks like."""

import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from picokube.apiserver.builtin_kinds import built_in_types
from picokube.apiserver.kinds.stored_forms import whole_floats_to_integers
from picokube.apiserver.printing.representations import accepted_form, check_acceptable, chosen
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.body import as_yaml
from picokube.apiserver.protocol.messages import Request

PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
KINDS = {built_in_type.qualified: built_in_type for built_in_type in built_in_types()}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "n", "creationTimestamp": "2024-01-01T00:00:00Z"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def request(accept, **query):
    """A GET that accepts this."""
    parameters = {name: [value] for name, value in query.items()}
    return Request(method="GET", path="", query=parameters, headers={"accept": accept})


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", ("application/json", "")),
        ("*/*", ("application/json", "")),
        ("text/html,application/*;q=0.8", ("application/json", "")),
        ("application/vnd.kubernetes.protobuf,application/json", ("application/json", "")),
        ("application/yaml,application/json", ("application/yaml", "")),
        (f"application/json;as=Table;v=v9;g=meta.k8s.io,{TABLE}", ("application/json", "Table")),
        ("application/yaml;as=Table;v=v1;g=meta.k8s.io", ("application/yaml", "Table")),
        ("application/json;as=Nonsense;v=v1;g=meta.k8s.io", None),
        ("application/vnd.kubernetes.protobuf", None),
        ("text/html", None),
    ],
)
def test_the_first_form_that_there_is_counts(accept, form):
    """Protobuf is never written."""
    assert accepted_form(accept) == form


@pytest.mark.parametrize(
    ("accept", "verb"),
    [
        ("text/html", "get"),
        ("application/*", "get"),
        (TABLE.replace("v1", "v2"), "list"),
        ("application/yaml", "watch"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_anything_is_done(accept, verb):
    """A write whose answer the client could not read must not happen."""
    with pytest.raises(errors.ApiError) as refused:
        check_acceptable(request(accept), KINDS["pods"], verb)

    assert refused.value.code == 406


def test_a_pod_that_is_over_says_so_in_its_row():
    """Kubectl handles such rows differently."""
    over = orjson.dumps(POD | {"status": {"phase": "Succeeded"}})
    running = orjson.dumps(POD | {"status": {"phase": "Running"}})

    table = orjson.loads(chosen(request(TABLE)).many(KINDS["pods"], [over, running], {}))

    assert [[condition["reason"] for condition in row.get("conditions", ())] for row in table["rows"]] == [
        ["Succeeded"],
        [],
    ]


def test_an_empty_token_is_not_part_of_a_table_or_of_metadata():
    """Lists of custom resources have one."""
    meta = {"resourceVersion": "5", "continue": ""}

    shown = [
        orjson.loads(chosen(request(accept)).many(KINDS["pods"], [], meta))["metadata"]
        for accept in (TABLE, PARTIAL.replace("Metadata;", "MetadataList;"))
    ]

    assert shown == [{"resourceVersion": "5"}] * 2


def test_metadata_alone_of_a_list_has_its_own_kind():
    """It must be asked for by that name, and only for lists."""
    one, many = chosen(request(PARTIAL)), chosen(request(PARTIAL.replace("Metadata;", "MetadataList;")))

    with pytest.raises(errors.ApiError, match=r"is a list \(\*core.PodList\)"):
        one.many(KINDS["pods"], [], {})
    with pytest.raises(errors.ApiError, match=r"is not a list \(\*batch.Job\)"):
        many.one(KINDS["jobs.batch"], orjson.dumps(POD))


def test_a_table_carries_the_requested_objects():
    """Other values are refused."""
    carried = {
        include: orjson.loads(
            chosen(request(TABLE, includeObject=include)).one(KINDS["pods"], orjson.dumps(POD))
        )["rows"][0]["object"]
        for include in ("", "Metadata", "Object", "None")
    }

    assert [found and found["kind"] for found in carried.values()] == [
        "PartialObjectMetadata",
        "PartialObjectMetadata",
        "Pod",
        None,
    ]
    with pytest.raises(errors.ApiError, match="must be 'Metadata', 'Object', 'None', or empty"):
        chosen(request(TABLE, includeObject="Some"))


@given(JSON_VALUES)
def test_yaml_reads_back_as_what_was_written(value):
    """Whatever the value."""
    written = as_yaml(orjson.dumps({"value": value}))

    assert yaml.safe_load(written) == {"value": value}


@pytest.mark.parametrize(
    "text", ["1", "true", "null", "2024-01-01T00:00:00Z", "y", "off", "", "~", "0x1f", "1e3"]
)
def test_a_text_that_could_be_something_else_is_in_double_quotes(text):
    """As Go writes it."""
    assert as_yaml(orjson.dumps({"a": text})) == f'a: "{text}"\n'.encode()


def test_a_float_that_is_whole_is_written_without_its_fraction():
    """Wherever it is, but for numbers beyond what an integer holds."""
    obj = {"metadata": {}, "spec": {"a": 4.0, "b": [1.5, {"c": -3.0}], "d": 1e20, "e": True}, "f": 2.0}

    whole_floats_to_integers(obj)

    assert obj == {"metadata": {}, "spec": {"a": 4, "b": [1.5, {"c": -3}], "d": 1e20, "e": True}, "f": 2}
    found = [obj["spec"]["a"], obj["spec"]["b"][1]["c"], obj["spec"]["d"], obj["spec"]["e"], obj["f"]]
    assert [type(item) for item in found] == [int, int, float, bool, int]
