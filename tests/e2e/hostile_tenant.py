"""A tenant's program: creates hostile objects, changes some, keeps few. Prints a summary as JSON."""

import http.client
import json
import os
import random
import ssl
import sys
import time
from collections import Counter, deque
from itertools import cycle
from urllib.parse import quote, urlsplit

from jangar.api.kind import VERSION, Kind
from support.hostile_objects import hostile_object, pairs

KEPT = 150
"""Maximum number of objects that exist at a time; the oldest is deleted."""
FEW_SECONDS = 30


class Api:
    """One connection, reopened when it breaks."""

    def __init__(self, server: str, authority: str, token: str) -> None:
        self._netloc = urlsplit(server).netloc
        self._context = ssl.create_default_context(cafile=authority)
        self._token = token
        self._connection: http.client.HTTPSConnection | None = None

    def request(
        self, method: str, path: str, body: object = None, content: str = "application/json", **headers
    ) -> int:
        """Return the HTTP status; 0 if there was no response."""
        try:
            if self._connection is None:
                self._connection = http.client.HTTPSConnection(
                    self._netloc, context=self._context, timeout=FEW_SECONDS
                )
            written = None if body is None else json.dumps(body).encode(errors="replace")
            given = {"Authorization": f"Bearer {self._token}", "Content-Type": content, **headers}
            self._connection.request(method, path, written, given)
            answer = self._connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            sys.stderr.write(f"{method} {path}: {error!r}\n")
            self._connection = None
            return 0
        return answer.status


def change(api: Api, rng: random.Random, path: str, collection: str, made: dict) -> None:
    """Another write that the tenant's permissions allow."""
    spec = made["spec"]
    match rng.randrange(7):
        case 0:
            api.request("PATCH", path, {"spec": spec}, "application/merge-patch+json")
        case 1:
            query = "?fieldManager=hostile&force=true"
            api.request("PATCH", path + query, made, "application/apply-patch+yaml")
        case 2:
            patch = [{"op": "add", "path": "/metadata/annotations", "value": {}}]
            patch += [
                {"op": "add", "path": f"/metadata/annotations/a{n}", "value": "x"} for n in range(2_000)
            ]
            api.request("PATCH", path, patch, "application/json-patch+json")
        case 3:
            patch = [{"op": "copy", "from": "/spec", "path": "/spec/x"}] * 30
            api.request("PATCH", path, patch, "application/json-patch+json")
        case 4:
            api.request("GET", collection, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        case 5:
            selector = ",".join(f"k{n} in (a,b)" for n in range(300))
            api.request("GET", f"{collection}?labelSelector={quote(selector)}")
        case _:
            api.request("PUT", path, made)


def attack(api: Api, namespace: str, seed: int, count: int, seconds: float) -> dict:
    rng = random.Random(seed)  # noqa: S311 - generated input, no secret
    known: dict[str, str] = {}
    kept: deque[str] = deque()
    answers: Counter[int] = Counter()
    kinds: Counter[str] = Counter()
    slowest = (0.0, "")
    end = time.monotonic() + seconds
    number = 0
    for together in cycle(list(pairs())):
        for kind in together:
            name = f"{kind.name.lower()}-{seed}-{number}"
            collection = _collection(kind, namespace)
            made = hostile_object(rng, kind, name, known)
            began = time.monotonic()
            status = api.request("POST", collection, made)
            slowest = max(slowest, (time.monotonic() - began, name))
            answers[status] += 1
            number += 1
            if status == http.HTTPStatus.CREATED:
                kinds[kind.name] += 1
                known[kind.name.lower()] = name
                kept.append(f"{collection}/{name}")
                if rng.random() < 0.15:
                    change(api, rng, f"{collection}/{name}", collection, made)
            while len(kept) > KEPT:
                api.request("DELETE", kept.popleft())
            if number >= count or time.monotonic() > end:
                return {
                    "objects": number,
                    "answers": dict(answers),
                    "kinds": dict(kinds),
                    "slowest": slowest,
                }
    raise AssertionError("there is always another pair")


def _collection(kind: Kind, namespace: str) -> str:
    return f"/apis/{kind.group}/{VERSION}/namespaces/{namespace}/{kind.plural}"


if __name__ == "__main__":
    os.nice(19 - os.nice(0))
    sys.setrecursionlimit(100_000)  # for deeply nested objects
    server, authority, namespace, seed, count, seconds = sys.argv[1:]
    api = Api(server, authority, os.environ["HOSTILE_TOKEN"])
    sys.stdout.write(json.dumps(attack(api, namespace, int(seed), int(count), float(seconds))))
