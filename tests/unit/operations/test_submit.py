"""The run object of a submission, and the name and label that an idempotency key gives it."""

import pytest

from jangar.operations.idempotency import DELIVERY_ID
from jangar.operations.submit import RunSubmission, manifest


def test_a_run_without_a_name_gets_one_from_the_api():
    """Its prefix is the name of the orchestration."""
    made = manifest(RunSubmission(namespace="n", orchestration="nightly", parameters={"a": "b"}))
    assert made["metadata"] == {"namespace": "n", "generateName": "nightly-"}
    assert made["spec"] == {"orchestrationRef": {"name": "nightly"}, "parameters": {"a": "b"}}


def test_the_name_of_a_run_with_a_key_follows_from_the_key_alone():
    """So two requests with one key create one run, from any process and for any orchestration."""
    one = manifest(RunSubmission(namespace="n", orchestration="a", key="k"))
    other = manifest(RunSubmission(namespace="n", definition={"steps": []}, key="k"))
    assert one["metadata"]["name"] == other["metadata"]["name"]
    assert one["spec"]["deliveryId"] == "k"


@pytest.mark.parametrize(
    ("key", "is_label"),
    [
        pytest.param("order-1", True, id="fits"),
        pytest.param("a" * 64, False, id="too-long"),
        pytest.param("a/b", False, id="slash"),
        pytest.param("-", False, id="dash-alone"),
    ],
)
def test_a_key_that_no_label_can_hold_is_labeled_by_its_hash(key, is_label):
    """Labels allow 63 characters of a small set; keys allow more."""
    label = manifest(RunSubmission(namespace="n", orchestration="a", key=key))["metadata"]["labels"][
        DELIVERY_ID
    ]
    assert (label == key) is is_label
    assert len(label) <= 63
