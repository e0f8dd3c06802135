"""Hostile HTTP requests derived from valid ones. Generates requests in the forms of the Kubernetes API; sends
nothing.

Everything follows from a seed: the same number is the same request, byte for byte.
"""

import base64
import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

BODY_LIMIT = 3 * 1024 * 1024
NS = "hostile"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "FETCH")

JSON_PATCH, MERGE, STRATEGIC, APPLY = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
MEDIA = (
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/cbor",
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    APPLY,
    "application/apply-patch+cbor",
    "text/plain",
    "multipart/form-data; boundary=x",
    "application/json; charset=utf-16",
    "APPLICATION/JSON",
    "application/json;;;=",
    "/",
    "a" * 5000,
)
ACCEPT = (
    "application/json",
    "*/*",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=Nothing;v=v9;g=nowhere",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf,application/json",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    "text/html",
    "",
    ",,,;;;=",
    "application/json;q=nonsense",
    "application/yaml",
    "a/b," * 2000,
)

OBJECTS: dict[str, dict[str, Any]] = {
    "/api/v1/namespaces/{ns}/configmaps": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "data": {"a": "1", "b": "two"},
        "binaryData": {"c": "AAE="},
    },
    "/api/v1/namespaces/{ns}/secrets": {
        "apiVersion": "v1",
        "kind": "Secret",
        "data": {"key": "dmFsdWU="},
        "stringData": {"other": "text"},
        "type": "Opaque",
    },
    "/api/v1/namespaces/{ns}/serviceaccounts": {"apiVersion": "v1", "kind": "ServiceAccount"},
    "/api/v1/namespaces/{ns}/events": {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {"kind": "Pod", "namespace": NS, "name": "x"},
        "reason": "R",
        "message": "m",
        "type": "Normal",
    },
    "/api/v1/namespaces": {"apiVersion": "v1", "kind": "Namespace"},
    "/api/v1/namespaces/{ns}/pods": {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "main",
                    "image": "busybox",
                    "command": ["true"],
                    "env": [{"name": "A", "value": "1"}],
                    "resources": {"limits": {"cpu": "100m", "memory": "1Gi"}},
                    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                }
            ],
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
    },
    "/apis/batch/v1/namespaces/{ns}/jobs": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "spec": {
            "suspend": True,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "busybox"}],
                }
            },
        },
    },
    "/apis/batch/v1/namespaces/{ns}/cronjobs": {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "spec": {
            "schedule": "0 3 * * *",
            "jobTemplate": {
                "spec": {
                    "template": {
                        "spec": {
                            "restartPolicy": "Never",
                            "containers": [{"name": "main", "image": "busybox"}],
                        }
                    }
                }
            },
        },
    },
    "/apis/apps/v1/namespaces/{ns}/deployments": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "main", "image": "busybox"}]},
            },
        },
    },
    "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases": {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15},
    },
    "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles": {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    },
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    },
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "moths.hostile.example.com"},
        "spec": {
            "group": "hostile.example.com",
            "names": {"kind": "Moth", "plural": "moths"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "wings": {"type": "integer", "minimum": 0, "default": 4},
                                        "names": {
                                            "type": "array",
                                            "items": {"type": "string", "maxLength": 9},
                                        },
                                        "free": {
                                            "type": "object",
                                            "x-kubernetes-preserve-unknown-fields": True,
                                        },
                                    },
                                    "x-kubernetes-validations": [{"rule": "self.wings < 9"}],
                                }
                            },
                        }
                    },
                    "additionalPrinterColumns": [
                        {"name": "Wings", "type": "integer", "jsonPath": ".spec.wings"}
                    ],
                }
            ],
        },
    },
    "/apis/tools.proompteng.ai/v1alpha1/namespaces/{ns}/toolruns": {
        "apiVersion": "tools.proompteng.ai/v1alpha1",
        "kind": "ToolRun",
        "spec": {"toolRef": {"name": "greet"}, "parameters": {"who": "you"}, "timeoutSeconds": 30},
    },
}
COLLECTIONS = tuple(OBJECTS)
OTHER_PATHS = (
    "/",
    "/api",
    "/apis",
    "/api/v1",
    "/apis/batch",
    "/apis/batch/v1",
    "/version",
    "/openapi/v3",
    "/openapi/v3/api/v1",
    "/openapi/v3/apis/batch/v1",
    "/openapi/v2",
    "/healthz",
    "/readyz",
    "/livez/etcd",
    "/metrics",
    "/logs",
    "/debug/pprof",
    "/api/v1/watch/namespaces/{ns}/configmaps",
    "/api/v1/pods",
    "/api/v1/configmaps",
    "/apis/batch/v1/jobs",
    "/api/v1/namespaces/{ns}/pods/main/log",
    "/api/v1/namespaces/{ns}/pods/main/exec",
    "/api/v1/namespaces/{ns}/pods/main/eviction",
    "/api/v1/namespaces/{ns}/pods/main/status",
    "/api/v1/namespaces/{ns}/serviceaccounts/default/token",
    "/api/v1/namespaces/{ns}/finalize",
    "/api/v1/nodes/x/proxy/a/b/c",
    "/apis/apps/v1/namespaces/{ns}/deployments/x/scale",
    "/apis/nowhere/v1/things",
)
NAMES = ("main", "other", "x", "default", "kube-root-ca.crt")
BAD_NAMES = (
    "..",
    ".",
    "%2e%2e",
    "%2f",
    "a%2fb",
    "%00",
    "a%00b",
    "%ff%fe",
    "%",
    "%zz",
    "UPPER",
    "-dash",
    "a b".replace(" ", "%20"),
    "%0d%0aX-Evil:%201",
    "a" * 300,
    "a" * 20_000,
    "%F0%9F%A6%8B",
    "{ns}",
    "'; drop table objects; --".replace(" ", "%20"),
    "*",
    "?",
    "%3f",
    ";",
    "@",
    "~",
)
NUMBERS = (
    "0",
    "1",
    "-1",
    "2147483648",
    "9223372036854775808",
    "9" * 400,
    "1e9",
    "0x10",
    "",
    " 1",
    "1_0",
    "٣",
    "NaN",
    "1.5",
)
REVISIONS = (*NUMBERS, "abc", "18446744073709551616", "00000001", "-0")
BOOLEANS = ("true", "false", "1", "0", "", "yes", "TRUE", "null")
SELECTORS = (
    "a=b",
    "a==b,c!=d",
    "a in (b,c)",
    "a notin (b)",
    "!a",
    "a",
    "a in (",
    "a in ()",
    "a,,b",
    "=",
    "a=b=c",
    ",",
    "(" * 1000,
    ",".join(f"k{n}=v" for n in range(2000)),
    "a in (" + ",".join(f"v{n}" for n in range(5000)) + ")",
    "a" * 10_000,
    "a>1",
    "a<x",
    "\x00",
    "ä=ö",
    "a=" + "b" * 64,
    "x/y/z=1",
    "metadata.name=main",
    "metadata.name!=main,metadata.namespace=hostile",
    "status.phase=Running",
    "metadata.name=main,metadata.name=other",
    "metadata.name==\\,\\=",
    "metadata.labels.a=b",
    "spec." + "a." * 500 + "b=1",
)
TOKENS = (
    "",
    "x",
    "====",
    "a" * 100_000,
    base64.urlsafe_b64encode(b"{}").decode(),
    base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":-1,"start":"a"}').decode(),
    base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":1,"start":"../../etc"}').decode(),
    base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":"x","start":[]}').decode(),
    base64.urlsafe_b64encode(
        b'{"v":"meta.k8s.io/v1","rv":99999999999999999999,"start":"a/b\\u0000"}'
    ).decode(),
    base64.urlsafe_b64encode(b"[" * 5000).decode(),
    base64.urlsafe_b64encode(b"\xff\xfe").decode(),
)
QUERY: dict[str, tuple[str, ...]] = {
    "limit": NUMBERS,
    "timeoutSeconds": NUMBERS,
    "resourceVersion": REVISIONS,
    "resourceVersionMatch": ("Exact", "NotOlderThan", "Nonsense", ""),
    "continue": TOKENS,
    "labelSelector": SELECTORS,
    "fieldSelector": SELECTORS,
    "watch": BOOLEANS,
    "allowWatchBookmarks": BOOLEANS,
    "sendInitialEvents": BOOLEANS,
    "dryRun": ("All", "all", "", "None", "All&dryRun=All"),
    "fieldManager": ("me", "", "a" * 129, "\x00", "ä", "a" * 5000),
    "fieldValidation": ("Strict", "Warn", "Ignore", "Nonsense", ""),
    "force": BOOLEANS,
    "pretty": BOOLEANS,
    "propagationPolicy": ("Background", "Foreground", "Orphan", "Nonsense", ""),
    "gracePeriodSeconds": NUMBERS,
    "orphanDependents": BOOLEANS,
    "includeObject": ("None", "Metadata", "Object", "Nonsense"),
    "follow": ("false",),
    "tailLines": NUMBERS,
    "limitBytes": NUMBERS,
    "sinceSeconds": NUMBERS,
    "sinceTime": ("2026-01-01T00:00:00Z", "yesterday", "", "9" * 50),
    "container": ("main", "", "../../../etc/passwd", "a" * 5000, "%00"),
    "previous": BOOLEANS,
    "hash": ("0", "x" * 5000),
}
STRANGE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    -(2**63) - 1,
    2**70,
    1.5,
    1e308,
    "",
    " ",
    "\x00",
    "\ud800",
    "💥" * 100,
    "x" * 5000,
    [],
    [[]],
    [None],
    {},
    {"": {}},
    {"a": None},
    {"$patch": "delete"},
    {"$patch": "nonsense"},
    {"$retainKeys": [1, None]},
    {"$setElementOrder/containers": [{}]},
    "2026-13-45T99:99:99Z",
    "00000000-0000-0000-0000-000000000000",
)
KEYS = (
    "apiVersion",
    "kind",
    "metadata",
    "spec",
    "status",
    "name",
    "namespace",
    "generateName",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "resourceVersion",
    "uid",
    "deletionTimestamp",
    "creationTimestamp",
    "generation",
    "selfLink",
    "constructor",
    "__class__",
    "__proto__",
    "$ref",
    "",
    "a.b",
    "a/b",
    "~0~1",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """One request as bytes, and the known part of its response."""

    number: int
    line: str
    head: bytes
    body: bytes
    may_stream: bool = False
    closes: bool = False

    @property
    def wire(self) -> bytes:
        return self.head + self.body


class Generator:
    """Request number n of a seed."""

    def __init__(self, seed: int, *, token: str) -> None:
        self._seed, self._token = seed, token
        self._forms: tuple[Callable[[random.Random], tuple[str, str, dict[str, str], bytes]], ...] = (
            *(self._mutated_write,) * 6,
            *(self._mutated_patch,) * 5,
            *(self._odd_query,) * 5,
            *(self._odd_path,) * 3,
            *(self._odd_headers,) * 2,
            *(self._raw_body,) * 3,
            self._deletion,
            self._anything,
        )

    def request(self, number: int) -> Hostile:
        rng = random.Random(f"{self._seed}/{number}")  # noqa: S311 - nothing is secret here
        # All expensive requests come early, so that their one-time memory cost is part of the baseline.
        every = 50 if number < 1000 else 400
        if number % every == 7:
            method, path, headers, body = _heavy(number // every)
        else:
            method, path, headers, body = rng.choice(self._forms)(rng)
        path = path.replace("{ns}", NS)
        if method == "DELETE" and path.partition("?")[0].strip("/").endswith(f"namespaces/{NS}"):
            method = "GET"  # the namespace of all other requests stays
        fields = {"Host": "127.0.0.1", "Authorization": f"Bearer {self._token}"} | headers
        if "Transfer-Encoding" not in fields and "Content-Length" not in fields:
            fields["Content-Length"] = str(len(body))
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in fields.items()
        )
        return Hostile(
            number=number,
            line=f"{method} {path}"[:300],
            head=head.encode("utf-8", "surrogatepass") + b"\r\n",
            body=body,
            may_stream="watch" in path or "follow" in path,
            closes=method == "CONNECT" or fields.get("Connection") == "close",
        )

    # -- forms ----------------------------------------------------------------------------------------------------

    def _mutated_write(self, rng: random.Random) -> tuple[str, str, dict[str, str], bytes]:
        collection = rng.choice(COLLECTIONS)
        body = _object(collection, rng)
        for _ in range(rng.randrange(4)):
            mutate(body, rng)
        creates = rng.random() < 0.6
        path = collection if creates else f"{collection}/{rng.choice(NAMES)}"
        if not creates and rng.random() < 0.2:
            path += rng.choice(("/status", "/finalize", "/scale", "/log", "/nothing"))
        return (
            "POST" if creates else "PUT",
            path + _query(rng, 0.3),
            {"Content-Type": MEDIA[0]},
            _json(body),
        )

    def _mutated_patch(self, rng: random.Random) -> tuple[str, str, dict[str, str], bytes]:
        collection = rng.choice(COLLECTIONS)
        media = rng.choice((JSON_PATCH, MERGE, STRATEGIC, APPLY))
        body: Any = _object(collection, rng)
        for _ in range(rng.randrange(4)):
            mutate(body, rng)
        if media == JSON_PATCH:
            body = [_operation(rng) for _ in range(rng.randrange(5))]
        if media == APPLY:
            body.get("metadata", {}).pop("managedFields", None) if isinstance(
                body.get("metadata"), dict
            ) else None
        path = f"{collection}/{rng.choice(NAMES)}"
        if rng.random() < 0.15:
            path += "/status"
        query = _query(rng, 0.3)
        if media == APPLY and rng.random() < 0.8:
            query += ("&" if query else "?") + "fieldManager=me" + rng.choice(("", "&force=true"))
        return "PATCH", path + query, {"Content-Type": media}, _json(body)

    def _odd_query(self, rng: random.Random) -> tuple[str, str, dict[str, str], bytes]:
        path = rng.choice((*COLLECTIONS, *COLLECTIONS, *OTHER_PATHS))
        if rng.random() < 0.2:
            path += f"/{rng.choice(NAMES)}"
        return "GET", path + _query(rng, 1.0), {"Accept": rng.choice(ACCEPT[:5])}, b""

    def _odd_path(self, rng: random.Random) -> tuple[str, str, dict[str, str], bytes]:
        parts = rng.choice((*COLLECTIONS, *OTHER_PATHS)).split("/")
        for _ in range(rng.randrange(1, 4)):
            bad = rng.choice((*BAD_NAMES, *NAMES, ""))
            position = rng.randrange(1, len(parts) + 1)
            if rng.random() < 0.5:
                parts.insert(position, bad)
            else:
                parts[position - 1 if position == len(parts) else position] = bad
        path = "/".join(parts)
        if not path.startswith("/"):
            path = "/" + path
        return rng.choice(METHODS), path.replace(" ", "%20"), {}, b""

    def _odd_headers(self, rng: random.Random) -> tuple[str, str, dict[str, str], bytes]:
        collection = rng.choice(COLLECTIONS)
        body = _json(_object(collection, rng))
        headers = {"Content-Type": rng.choice(MEDIA), "Accept": rng.choice(ACCEPT)}
        extra = (
            {
                "Authorization": rng.choice(
                    ("", "Bearer", "Bearer ", "Bearer x", "Basic eDp5", "Bearer \u00ff")
                )
            },
            {"Impersonate-User": "someone", "Impersonate-Group": "system:masters"},
            {"Expect": "100-continue"},
            {"Range": "bytes=0-1"},
            {"Content-Encoding": "gzip"},
            {"Accept-Encoding": "gzip, br, nonsense"},
            {"X-Long": "x" * 60_000},
            {"If-Match": "*", "If-None-Match": '"x"'},
            {"Upgrade": "websocket", "Connection": "Upgrade"},
            {"X-Forwarded-For": "1.2.3.4", "X-Remote-User": "admin"},
            {"User-Agent": rng.choice(("", "/", "\u00e4" * 200, "a/b/c"))},
            {"Host": "evil.example"},
            {},
        )
        method = rng.choice(("GET", "POST", "POST", "PATCH", "PUT", "DELETE"))
        path = collection if method in ("GET", "POST") else f"{collection}/{rng.choice(NAMES)}"
        return method, path, headers | rng.choice(extra), body if method != "GET" else b""

    def _raw_body(self, rng: random.Random) -> tuple[str, str, dict[str, str], bytes]:
        collection = rng.choice(COLLECTIONS)
        good = _json(_object(collection, rng))
        body = rng.choice(_BROKEN)(good, rng)
        media = rng.choice(MEDIA[:8])
        method = "PATCH" if "patch" in media else rng.choice(("POST", "PUT"))
        path = collection if method == "POST" else f"{collection}/{rng.choice(NAMES)}"
        if media == APPLY:
            path += "?fieldManager=me&force=true"
        return method, path, {"Content-Type": media}, body

    def _deletion(self, rng: random.Random) -> tuple[str, str, dict[str, str], bytes]:
        collection = rng.choice(COLLECTIONS[:-1])
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": rng.choice(("Background", "Foreground", "Orphan")),
            "preconditions": {"uid": "x", "resourceVersion": "1"},
            "gracePeriodSeconds": rng.choice((0, 1)),
        }
        if rng.random() < 0.6:
            options.pop("preconditions")
        for _ in range(rng.randrange(3)):
            mutate(options, rng)
        path = f"{collection}/{rng.choice(NAMES)}" if rng.random() < 0.8 else collection
        if path == "/apis/apiextensions.k8s.io/v1/customresourcedefinitions":
            path += "/moths.hostile.example.com"
        return "DELETE", path + _query(rng, 0.3), {"Content-Type": MEDIA[0]}, _json(options)

    def _anything(self, rng: random.Random) -> tuple[str, str, dict[str, str], bytes]:
        path = rng.choice((*COLLECTIONS, *OTHER_PATHS)) + _query(rng, 0.5)
        body = rng.randbytes(rng.randrange(200))
        headers = {"Content-Type": rng.choice(MEDIA), "Accept": rng.choice(ACCEPT)}
        method = rng.choice(METHODS)
        # Whole collections, the kinds themselves and the tests' own namespace stay.
        if method == "DELETE":
            path = f"/api/v1/namespaces/{NS}/configmaps/{rng.choice(NAMES)}"
        return method, path, headers, body


def _object(collection: str, rng: random.Random) -> dict[str, Any]:
    body = json.loads(json.dumps(OBJECTS[collection]))
    meta = body.setdefault("metadata", {})
    meta.setdefault("name", rng.choice(NAMES))
    if rng.random() < 0.3:
        meta["labels"] = {"a": "b"}
    return body


def mutate(document: Any, rng: random.Random) -> None:
    """One random change in a document: a value, a key, a doubled list, or a removal."""
    holders = list(_holders(document))
    if not holders:
        return
    holder = rng.choice(holders)
    strange = deepcopy(rng.choice(STRANGE))
    if isinstance(holder, dict):
        key = rng.choice([*holder, rng.choice(KEYS)]) if holder else rng.choice(KEYS)
        if rng.random() < 0.25:
            holder.pop(key, None)
        else:
            holder[key] = strange
    elif holder and rng.random() < 0.5:
        holder[rng.randrange(len(holder))] = strange
    else:
        holder.extend(deepcopy(holder[:50]) or [strange])


def _holders(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _holders(item)
    elif isinstance(value, list):
        yield value
        for item in value:
            yield from _holders(item)


def _operation(rng: random.Random) -> Any:
    pointers = (
        "",
        "/",
        "/metadata/labels/a",
        "/metadata/labels",
        "/metadata/name",
        "/spec",
        "/spec/-",
        "/data/x",
        "/spec/template/spec/containers/0/image",
        "/spec/template/spec/containers/-",
        "/spec/template/spec/containers/99999999999999999999",
        "/spec/template/spec/containers/-1",
        "/spec/template/spec/containers/01",
        "/a~2b",
        "/~",
        "no-slash",
        "/" * 5000,
        "/metadata/managedFields",
    )
    operation = {
        "op": rng.choice(("add", "remove", "replace", "move", "copy", "test", "nonsense")),
        "path": rng.choice(pointers),
        "from": rng.choice(pointers),
        "value": rng.choice(STRANGE),
    }
    if rng.random() < 0.3:
        operation.pop(rng.choice(tuple(operation)))
    return rng.choice((operation, operation, operation, operation, *STRANGE[:3]))


def _query(rng: random.Random, likely: float) -> str:
    if rng.random() > likely:
        return ""
    names = rng.sample(tuple(QUERY), rng.randrange(1, 4))
    parts = [f"{name}={quote(rng.choice(QUERY[name]), safe='&=')}" for name in names]
    if rng.random() < 0.05:
        parts.append(rng.choice(("&&&", "=", "a=b=c", "%", "%zz", "%00=%00", "watch", "x" * 10_000)))
    return "?" + "&".join(parts)


def _json(body: Any) -> bytes:
    return json.dumps(body).encode("utf-8", "surrogatepass")


# -- broken bodies ------------------------------------------------------------------------------------------------


def _cut(good: bytes, rng: random.Random) -> bytes:
    return good[: rng.randrange(len(good))]


def _flipped(good: bytes, rng: random.Random) -> bytes:
    broken = bytearray(good)
    for _ in range(rng.randrange(1, 6)):
        broken[rng.randrange(len(broken))] = rng.randrange(256)
    return bytes(broken)


def _doubled_key(good: bytes, rng: random.Random) -> bytes:
    return good[:-1] + b',"metadata":{"name":"main"},"metadata":null,"kind":"ConfigMap"}'


def _bad_utf8(good: bytes, rng: random.Random) -> bytes:
    return good.replace(b'"name": "', b'"name": "\xff\xc0\xaf', 1)


def _odd_number(good: bytes, rng: random.Random) -> bytes:
    number = rng.choice((b"1e999", b"-0", b"NaN", b"Infinity", b"0" * 5000, b"9" * 5000, b"1." + b"0" * 5000))
    return good[:-1] + b',"number":' + number + b"}"


def _fixed(text: bytes, good: bytes, rng: random.Random) -> bytes:
    return text


_LAUGHS = b"".join(
    [
        b"a: &a [x,x,x,x,x,x,x,x,x]\n",
        *(b"%c: &%c [%s]\n" % (n + 1, n + 1, b",".join([b"*%c" % n] * 8)) for n in range(ord("a"), ord("i"))),
    ]
)
"""A short text that references a hundred million nodes."""

_BROKEN: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _cut,
    _flipped,
    _flipped,
    _doubled_key,
    _bad_utf8,
    _odd_number,
    *(
        partial(_fixed, text)
        for text in (
            b"",
            b" ",
            b"null",
            b"[]",
            b"{}",
            b'""',
            b"1",
            b"\x00",
            b"\xef\xbb\xbf{}",
            b"k8s\x00",
            b"k8s\x00" + b"\xff" * 50,
            b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x05\n\x03\n\x01x\x1a\x00\x22\x00",
            b"k8s\x00\n\xff\xff\xff\xff\x0f",
            b"- a\n- b\n",
            b"a: &a [1]\nb: *a\n",
            b"a: !!python/object/apply:os.system ['true']\n",
            b"? {a: b}\n: c\n",
            b"a: 2026-01-01\nb: 1:30\nc: .inf\n",
            b"---\n---\n",
            b"a: b: c",
            b"\t",
            b"{" * 500,
            b"[" * 500 + b"]" * 500,
            _LAUGHS,
            b"a: &a {b: *a}\n",
        )
    ),
)

# -- few, but large -------------------------------------------------------------------------------------------

DEEP = 100_000


def _heavy(turn: int) -> tuple[str, str, dict[str, str], bytes]:
    path = f"/api/v1/namespaces/{NS}/configmaps"
    media, body = HEAVY[turn % len(HEAVY)]
    if "patch" in media:
        return "PATCH", f"{path}/main?fieldManager=me&force=true", {"Content-Type": media}, body
    return "POST", path, {"Content-Type": media}, body


def _map(**data: str) -> bytes:
    return _json({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "main"}, "data": data})


HEAVY: tuple[tuple[str, bytes], ...] = (
    ("application/json", b"[" * DEEP + b"]" * DEEP),
    ("application/json", b'{"a":' * DEEP + b"1" + b"}" * DEEP),
    (
        "application/json",
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
    ),
    ("application/yaml", b"[" * DEEP + b"]" * DEEP),
    ("application/yaml", b"- " * DEEP + b"x"),
    ("application/yaml", b"{a: " * DEEP + b"1" + b"}" * DEEP),
    (MERGE, b'{"data":' * DEEP + b"1" + b"}" * DEEP),
    (APPLY, b"[" * DEEP + b"]" * DEEP),
    (APPLY, b"{a: " * DEEP),
    (JSON_PATCH, b"[" * DEEP),
    (
        JSON_PATCH,
        b"["
        + b'{"op":"add","path":"/data/x","value":"y"},' * 20_000
        + b'{"op":"add","path":"/data/x","value":"y"}]',
    ),
    (STRATEGIC, b'{"data":' * DEEP + b"1" + b"}" * DEEP),
    ("application/vnd.kubernetes.protobuf", b"k8s\x00" + b"\x0a\xff\xff\x03" * DEEP),
    ("application/json", b"x" * (BODY_LIMIT + 1)),
    ("application/json", _map(a="x" * (BODY_LIMIT - 200))),
    ("application/json", _map(**{f"k{n}": "v" for n in range(50_000)})),
    (
        "application/json",
        b'{"apiVersion":"v1","kind":"ConfigMap",'
        + b'"data":{"a":"b"},' * 50_000
        + b'"metadata":{"name":"x"}}',
    ),
    ("application/json", b" " * (BODY_LIMIT - 2) + b"{}"),
)
