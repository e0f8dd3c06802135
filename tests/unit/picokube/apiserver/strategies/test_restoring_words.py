"""What a strategic patch cannot make of a value, as Kubernetes' converter says it."""

import pytest

from picokube.apiserver.gotypes.decoding import WrongType
from picokube.apiserver.protocol import errors
from unit.picokube.apiserver.strategies.answers import resource_of


@pytest.mark.parametrize(
    ("plural", "obj", "message"),
    [
        ("configmaps", {"data": ["x"]}, "cannot restore map from slice"),
        ("configmaps", {"metadata": {"finalizers": {"a": "b"}}}, "cannot restore slice from map"),
        ("configmaps", {"binaryData": {"a": 5}}, "cannot restore slice from int64"),
        ("configmaps", {"metadata": "x"}, "cannot restore struct from: string"),
        ("configmaps", {"data": {"a": 5}}, "cannot convert int64 to string"),
        ("configmaps", {"data": {"a": 1.5}}, "unrecognized type: string"),
        ("configmaps", {"data": {"a": {}}}, "unrecognized type: string"),
        ("configmaps", {"immutable": 1}, "unrecognized type: bool"),
        ("services", {"spec": {"ports": [{"port": 1.5}]}}, "cannot convert float64 to int32"),
        ("services", {"spec": {"ports": [{"port": "x"}]}}, "unrecognized type: int32"),
        ("services", {"spec": {"ports": [{"protocol": 5}]}}, "cannot convert int64 to v1.Protocol"),
        (
            "services",
            {"spec": {"ports": [{"targetPort": True}]}},
            "json: cannot unmarshal bool into Go value of type int32",
        ),
        (
            "configmaps",
            {"metadata": {"creationTimestamp": 5}},
            "json: cannot unmarshal number into Go value of type string",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_reported_by_the_kinds_of_both(plural, obj, message):
    """The kind that the value has, and the one that it should have."""
    resource, _ = resource_of(f"/api/v1/namespaces/d/{plural}")
    with pytest.raises(errors.ApiError) as caught:
        resource.strategy.decode(obj)
    cause = caught.value.__cause__
    assert isinstance(cause, WrongType)
    assert cause.restoring == message


def test_bytes_that_are_null_in_a_map_are_none():
    """Storage keeps the key."""
    resource, _ = resource_of("/api/v1/namespaces/d/configmaps")
    assert resource.strategy.decode({"binaryData": {"a": None}})[0] == {"binaryData": {"a": ""}}
