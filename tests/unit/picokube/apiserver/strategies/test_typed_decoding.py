"""JSON is read as Go reads it: canonical amounts and times, what a kind does not know, what a field cannot hold."""

import copy

import pytest

from picokube.apiserver.gotypes.scalar_types import BadText, micro_time, quantity, time
from picokube.apiserver.protocol import errors
from picokube.apiserver.strategies.pods.defaults import pull_policy
from unit.picokube.apiserver.strategies.answers import resource_of

PROBED = "spec.containers.livenessProbe"
JOBS, PODS = "/apis/batch/v1/namespaces/d/jobs", "/api/v1/namespaces/d/pods"


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        (0.5, "500m"),
        (2, "2"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.1Gi", "107374182400m"),
        ("1000", "1k"),
        ("1e3", "1e3"),
        ("100e3", "100e3"),
        ("1500e3", "1500e3"),
        ("0", "0"),
        ("-1", "-1"),
        ("1E", "1E"),
        (".5", "500m"),
        ("0.0000000001", "1n"),
    ],
)
def test_amounts_are_canonical(written, canonical):
    assert quantity(written) == canonical


@pytest.mark.parametrize("written", ["", "x", "1x", "1 Gi", "Gi", ".", True, None, [], "1" * 100])
def test_other_texts_are_no_amounts(written):
    with pytest.raises(BadText):
        quantity(written)


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        pytest.param(time, "2026-01-01T02:00:00.5+02:00", "2026-01-01T00:00:00Z", id="whole-seconds-in-utc"),
        pytest.param(
            micro_time, "2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00.123456Z", id="six-decimals"
        ),
        pytest.param(time, "", None, id="empty-is-none"),
    ],
)
def test_times_are_canonical(read, text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (time, "x", 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
        (time, "2026-13-01T00:00:00Z", 'parsing time "2026-13-01T00:00:00Z": month out of range'),
        (
            time,
            "2026-01-01",
            'parsing time "2026-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"',
        ),
        (
            micro_time,
            "2026-01-01T00:00:00Z",
            'parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
        ),
    ],
)
def test_bad_times_are_refused_in_gos_words(read, text, problem):
    with pytest.raises(BadText) as refused:
        read(text)
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("path", "sent", "problem"),
    [
        (
            JOBS,
            {"spec": {"parallelism": "x"}},
            "string into Go struct field JobSpec.spec.parallelism of type int32",
        ),
        (
            JOBS,
            {"spec": {"parallelism": 4.0}},
            "number 4.0 into Go struct field JobSpec.spec.parallelism of type int32",
        ),
        (JOBS, {"spec": []}, "array into Go struct field Job.spec of type v1.JobSpec"),
        (
            JOBS,
            {"metadata": {"labels": {"a": 1}}},
            "number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            PODS,
            {"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": True}}}]}},
            f"bool into Go struct field HTTPGetAction.{PROBED}.ProbeHandler.httpGet.port of type int32",
        ),
        (
            PODS,
            {"spec": {"restartPolicy": 7}},
            "number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
        ),
    ],
)
def test_wrong_types_are_bad_requests_in_gos_words(path, sent, problem):
    resource, _ = resource_of(path)
    with pytest.raises(errors.ApiError) as refused:
        resource.strategy.decode(sent)
    assert refused.value.code == 400
    assert refused.value.message.endswith(f"json: cannot unmarshal {problem}")


def test_unknown_fields_are_dropped_and_reported():
    resource, _ = resource_of(PODS)
    found, unknown = resource.strategy.decode(
        {"spec": {"bar": 1, "containers": [{"name": "a", "x": 1}]}, "zap": None}
    )
    assert found == {"spec": {"containers": [{"name": "a"}]}}
    assert [item.field for item in unknown] == ["spec.bar", "spec.containers[0].x", "zap"]


def test_null_is_absent_except_within_lists_and_maps():
    resource, _ = resource_of("/api/v1/namespaces/d/configmaps")
    found, _ = resource.strategy.decode({"metadata": None, "immutable": None, "data": {"a": None}})
    assert found == {"data": {"a": ""}}


def test_deep_nesting_ends():
    schema: dict = {}
    for _ in range(500):
        schema = {"not": schema}
    crd = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
    resource, _ = resource_of("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    with pytest.raises(errors.ApiError):
        resource.strategy.decode(crd)


@pytest.mark.parametrize(
    "path", ["/api/v1/namespaces/d/pods", "/apis/batch/v1/namespaces/d/jobs", "/api/v1/namespaces/d/services"]
)
def test_completing_twice_changes_nothing(path):
    resource, _ = resource_of(path)
    template = {"spec": {"containers": [{"name": "a", "image": "b"}]}}
    obj = {
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "a"}], "template": template, "ports": [{"port": 1}]},
    }
    found, _ = resource.strategy.decode(obj)
    resource.strategy.complete(found)
    once = copy.deepcopy(found)
    resource.strategy.complete(found)
    assert found == once


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("x", "Always"),
        ("x:latest", "Always"),
        ("x:1", "IfNotPresent"),
        ("x@sha256:0", "IfNotPresent"),
        ("r:5000/x", "Always"),
    ],
)
def test_images_that_may_change_are_always_pulled(image, policy):
    assert pull_policy(image) == policy
