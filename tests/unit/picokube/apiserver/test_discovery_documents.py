"""What discovery says of the table of kinds."""

import orjson
import pytest

from picokube.apiserver.builtin_kinds import built_in_types
from picokube.apiserver.discovery.discovery import AGGREGATED, Discovery
from picokube.apiserver.kinds.names import version_order
from picokube.apiserver.kinds.resources import Registry
from picokube.apiserver.protocol.messages import Request
from picokube.apiserver.strategies.crds.custom import resource_types_of


def thing(plural, *versions, **subresources):
    """A definition with these versions, of which the last one is stored."""
    return {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": plural.capitalize()},
            "versions": [
                {"name": name, "served": True, "storage": name == versions[-1], "subresources": subresources}
                for name in versions
            ],
        },
    }


SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


@pytest.fixture
def registry():
    """Every built-in kind and one custom one."""
    registry = Registry(built_in_types())
    registry.serve_custom(
        "things.example.com", resource_types_of(thing("things", "v1beta1", "v1", status={}, scale=SCALE))
    )
    return registry


def get_document(registry, path, **headers):
    """The document at a path."""
    found = Discovery(registry).answer(Request(method="GET", path=path, headers=headers))
    return orjson.loads(found.body)


def test_versions_are_listed_stable_first_and_newest_first():
    """Names of no such form come last."""
    names = ["vintage", "v1alpha2", "v2", "v1beta1", "v10", "v1alpha10", "v1beta2x"]

    ordered = sorted(names, key=version_order)

    assert ordered == ["v10", "v2", "v1beta1", "v1alpha10", "v1alpha2", "v1beta2x", "vintage"]


def test_all_versions_of_a_kind_name_the_stored_one(registry):
    """By a hash that is the same in all of them."""
    found = {
        version: get_document(registry, f"/apis/example.com/{version}")["resources"][0]["storageVersionHash"]
        for version in ("v1", "v1beta1")
    }

    assert found["v1"] == found["v1beta1"]


def test_an_event_is_stored_in_the_core_group_wherever_it_is_shown(registry):
    """Its hash is that of the core group."""
    core, new = (get_document(registry, path)["resources"] for path in ("/api/v1", "/apis/events.k8s.io/v1"))
    hashes = {item["storageVersionHash"] for item in [*core, *new] if item["name"] == "events"}

    assert hashes == {"r2yiGXH7wu8="}


def test_scale_is_another_kind_than_the_object(registry):
    """In both forms of discovery."""
    classic = {
        resource["name"]: resource for resource in get_document(registry, "/apis/example.com/v1")["resources"]
    }
    aggregated = get_document(registry, "/apis", accept=AGGREGATED)
    group = next(item for item in aggregated["items"] if item["metadata"]["name"] == "example.com")
    inner = {
        subresource["subresource"]: subresource
        for subresource in group["versions"][0]["resources"][0]["subresources"]
    }

    scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert classic["things/scale"].items() >= scale.items()
    assert inner["scale"]["responseKind"] == scale
    assert inner["status"]["responseKind"] == {"group": "example.com", "version": "v1", "kind": "Things"}


def test_a_client_that_has_the_document_is_only_reported_so(registry):
    """Until a definition comes or goes. The answer says nothing of a body, which caches would take over."""
    discovery = Discovery(registry)
    first = discovery.answer(Request(method="GET", path="/apis", headers={"accept": AGGREGATED}))
    again = Request(
        method="GET",
        path="/apis",
        headers={"accept": AGGREGATED, "if-none-match": dict(first.headers)["ETag"]},
    )

    same = discovery.answer(again)
    registry.serve_custom("others.example.com", resource_types_of(thing("others", "v1")))
    other = discovery.answer(again)

    assert (same.status, same.body, same.content_type) == (304, b"", "")
    assert other.status == 200


def test_the_server_is_where_its_client_found_it(registry):
    """Its address is the host that was asked."""
    found = get_document(registry, "/api", host="127.0.0.1:6443")

    assert found["serverAddressByClientCIDRs"] == [
        {"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}
    ]
