"""What the client refuses to send, what it sends, and how it reads lists."""

import asyncio

import orjson
import pytest

from kubekit.client.api_client import Client, PatchKind, parse_watch_event
from kubekit.client.builtin import CONFIG_MAPS
from kubekit.client.errors import ApiError, Expired
from kubekit.client.transport import Response

UID = {"metadata": {"uid": "u"}}


class Recorder:
    """A transport that writes down what it is asked and answers from a list, else with an empty object."""

    def __init__(self, *answers):
        self.requests = []
        self.answers = list(answers)

    async def request(self, method, path, *, query=None, body=None, content_type="", timeout):  # noqa: ASYNC109
        self.requests.append(
            (method, path, dict(query or {}), orjson.loads(body) if body else None, content_type)
        )
        return self.answers.pop(0) if self.answers else Response(200, {}, b"{}")


def a_list(*names, more="", version="7"):
    items = [{"metadata": {"name": name}} for name in names]
    body = {
        "kind": "ConfigMapList",
        "metadata": {"resourceVersion": version, "continue": more},
        "items": items,
    }
    return Response(200, {}, orjson.dumps(body))


GONE = Response(410, {}, b'{"kind":"Status","code":410,"reason":"Expired"}')


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(
            lambda client: client.update(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "n"}}),
            id="update-without-version",
        ),
        pytest.param(
            lambda client: client.patch(CONFIG_MAPS, "a", "n", {"data": {}}, kind=PatchKind.MERGE),
            id="merge-patch-without-guard",
        ),
        pytest.param(
            lambda client: client.patch(
                CONFIG_MAPS, "a", "n", [{"op": "add", "path": "/data", "value": {}}], kind=PatchKind.JSON
            ),
            id="json-patch-without-guard",
        ),
        pytest.param(
            lambda client: client.patch(
                CONFIG_MAPS, "a", "n", [{"op": "test", "path": "/data", "value": {}}], kind=PatchKind.JSON
            ),
            id="json-patch-that-tests-something-else",
        ),
        pytest.param(lambda client: client.delete(CONFIG_MAPS, "a", "n", uid=""), id="delete-without-uid"),
        pytest.param(
            lambda client: client.create(CONFIG_MAPS, {"metadata": {"name": "a"}}),
            id="create-without-namespace",
        ),
    ],
)
def test_a_write_that_could_hit_another_object_is_not_sent(write):
    """The caller's mistake is reported before anything is sent."""
    transport = Recorder()
    with pytest.raises(ValueError, match="ConfigMap"):
        asyncio.run(write(Client(transport, manager="me")))
    assert transport.requests == []


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (UID, PatchKind.MERGE),
        ({"metadata": {"resourceVersion": "1"}}, PatchKind.STRATEGIC),
        ([{"op": "test", "path": "/metadata/uid", "value": "u"}], PatchKind.JSON),
    ],
)
def test_a_guarded_patch_is_sent_with_its_kind_and_manager(body, kind):
    """The content type says how it is read, the manager who wrote."""
    transport = Recorder()
    asyncio.run(Client(transport, manager="me").patch(CONFIG_MAPS, "a", "n", body, kind=kind))
    path = "/api/v1/namespaces/n/configmaps/a"
    assert transport.requests == [("PATCH", path, {"fieldManager": "me"}, body, kind.value)]


def test_a_delete_carries_its_preconditions():
    """uid always, the version when asked."""
    transport = Recorder(Response(200, {}, b'{"kind":"Status","status":"Success"}'))
    client = Client(transport, manager="me")
    assert (
        asyncio.run(client.delete(CONFIG_MAPS, "a", "n", uid="u", resource_version="3", grace_seconds=0))
        is None
    )
    assert transport.requests[0][3] == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u", "resourceVersion": "3"},
        "propagationPolicy": "Background",
        "gracePeriodSeconds": 0,
    }


def test_an_apply_says_its_kind_and_whether_it_forces():
    """A caller need not repeat the kind."""
    transport = Recorder()
    obj = {"metadata": {"name": "a", "namespace": "n"}}
    asyncio.run(Client(transport, manager="me").apply(CONFIG_MAPS, obj, force=True))
    method, _, query, body, content_type = transport.requests[0]
    assert (method, content_type) == ("PATCH", "application/apply-patch+yaml")
    assert query == {"fieldManager": "me", "force": "true"}
    assert body == {"apiVersion": "v1", "kind": "ConfigMap", **obj}


def test_all_pages_are_read_and_items_know_their_kind():
    """Lists of built-in kinds leave it out."""
    transport = Recorder(a_list("a", "b", more="next"), a_list("c"))
    found = asyncio.run(Client(transport, manager="me").list(CONFIG_MAPS, "n", labels="x=y", page_size=2))
    assert [item["metadata"]["name"] for item in found] == ["a", "b", "c"]
    assert {(item["apiVersion"], item["kind"]) for item in found} == {("v1", "ConfigMap")}
    assert [query for _, _, query, _, _ in transport.requests] == [
        {"labelSelector": "x=y", "limit": "2"},
        {"labelSelector": "x=y", "limit": "2", "continue": "next"},
    ]


def test_a_list_that_expires_between_pages_is_read_again():
    """No object twice, none missing."""
    transport = Recorder(a_list("a", more="next"), GONE, a_list("a", more="next"), a_list("b"))
    found = asyncio.run(Client(transport, manager="me").list(CONFIG_MAPS, "n"))
    assert [item["metadata"]["name"] for item in found] == ["a", "b"]


def test_a_list_that_is_always_forgotten_is_given_up():
    """Not forever."""
    transport = Recorder(*[GONE] * 10)
    with pytest.raises(Expired):
        asyncio.run(Client(transport, manager="me").list(CONFIG_MAPS, "n"))
    assert len(transport.requests) == 5


def test_an_answer_that_is_no_object_is_an_error():
    """A captive portal answers 200 with a page."""
    transport = Recorder(Response(200, {}, b"<html>"))
    with pytest.raises(ApiError, match="not a JSON object"):
        asyncio.run(Client(transport, manager="me").get(CONFIG_MAPS, "a", "n"))


def test_watch_lines():
    """Events, bookmarks, errors, nonsense."""
    event = parse_watch_event(b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"5"}}}')
    assert (event.kind, event.resource_version) == ("ADDED", "5")
    with pytest.raises(Expired, match="too old"):
        parse_watch_event(
            b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}'
        )
    for line in (b"{", b"[]", b"{}", b'{"type":"NEWS","object":{}}'):
        with pytest.raises(ApiError):
            parse_watch_event(line)
