"""Kill -9 under load over HTTP: acknowledged writes survive, no revision is reused, no watch has a gap.

This process keeps the record of acknowledgements; the server is not involved. `JANGAR_CRASH_TRIALS=200` for the full
proof.
"""

import hashlib
import http.client
import json
import os
import random
import threading
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from e2e.apiserver_process import ServerProcess, sent
from support.api_servers import wait_for
from support.kube_http import TooLate

TRIALS = int(os.environ.get("JANGAR_CRASH_TRIALS", "5"))
CALLERS, KEYS, WATCHERS = 6, 40, 2
MAX_WRITES = 200
"""Maximum number of acknowledged writes before the end; half of it on average."""
MAPS = "/api/v1/namespaces/default/configmaps"
GONE = (OSError, http.client.HTTPException, ValueError, TooLate, AttributeError)
"""Errors that a client of a killed server gets."""


class Promise(NamedTuple):
    """An acknowledged write or a reported event."""

    revision: int
    name: str
    fingerprint: str
    gone: bool


@dataclass
class Record:
    """All acknowledgements and events of the server over its restarts."""

    acknowledged: list[Promise] = field(default_factory=list)
    watched: list[list[Promise]] = field(default_factory=lambda: [[] for _ in range(WATCHERS)])
    started: int = 0


def promise(obj, *, gone=False):
    meta = obj["metadata"]
    reported = json.dumps([meta["uid"], obj.get("data"), meta["name"]], sort_keys=True).encode()
    return Promise(
        int(meta["resourceVersion"]), meta["name"], hashlib.sha256(reported).hexdigest()[:16], gone
    )


def test_a_killed_server_keeps_every_promise(tmp_path):
    rng = random.Random(os.environ.get("JANGAR_CRASH_SEED", "1"))  # noqa: S311 - nothing is secret here
    server, record = ServerProcess(tmp_path), Record()
    server.start()
    client = server.client()
    record.first_revision = int(sent(client, "GET", MAPS)["metadata"]["resourceVersion"])
    client.close()
    try:
        for _ in range(TRIALS):
            live_and_die(server, record, rng)
            server.start()
            check(server, record)
    finally:
        server.kill()
    assert len(record.acknowledged) > MAX_WRITES / 4 * TRIALS, "the callers did work"


def live_and_die(server, record, rng):
    """Run load and watches until the process is gone after a number of writes, which does not depend on the machine's
    speed.
    """
    over, lock = threading.Event(), threading.Lock()
    threads = [
        threading.Thread(target=hammer, args=(server, record, lock, over, rng.random()))
        for _ in range(CALLERS)
    ]
    threads += [
        threading.Thread(target=follow, args=(server, record, index, over)) for index in range(WATCHERS)
    ]
    for thread in threads:
        thread.start()
    enough = len(record.acknowledged) + rng.randrange(MAX_WRITES)
    wait_for(lambda: len(record.acknowledged) >= enough, what=f"{enough} writes")
    time.sleep(rng.uniform(0, 0.01))
    server.kill()
    over.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "a caller waits for a server that is gone"


def hammer(server, record, lock, over, seed):
    rng, client = random.Random(seed), server.client()  # noqa: S311
    while not over.is_set():
        name = f"m{rng.randrange(KEYS)}"
        try:
            promised = write(client, name, rng)
        except GONE:
            break
        if promised is not None:
            with lock:
                record.acknowledged.append(promised)
    client.close()


def write(client, name, rng):
    """A random write; the acknowledgement, if there was one."""
    data = {"noise": rng.randbytes(rng.choice((8, 400, 4000))).hex()}
    kind, headers = rng.random(), {"Content-Type": "application/json"}
    if kind < 0.15:
        answer = client.request("DELETE", f"{MAPS}/{name}", seconds=5)
        # The response has no revision; a watch reports it.
        return None if answer.status in (200, 404) else refuse(answer)
    if kind < 0.6:
        body = json.dumps({"data": data}).encode()
        answer = client.request(
            "PATCH", f"{MAPS}/{name}", body, {"Content-Type": "application/merge-patch+json"}, seconds=5
        )
        if answer.status == 200:
            return promise(answer.body)
        if answer.status != 404:
            return refuse(answer)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    answer = client.request("POST", MAPS, json.dumps(body).encode(), headers, seconds=5)
    if answer.status == 409:
        return None
    return promise(answer.body) if answer.status == 201 else refuse(answer)


def refuse(answer):
    raise AssertionError(f"{answer.status} {answer.content[:500]!r}")


def follow(server, record, index, over):
    """Watch from the last received revision."""
    mine = record.watched[index]
    since = mine[-1].revision if mine else record.first_revision
    client = server.client()
    try:
        with client.stream(f"{MAPS}?watch=true&resourceVersion={since}", seconds=10) as watch:
            while not over.is_set():
                event = watch.next(seconds=2)
                if event is None:
                    break
                assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
                mine.append(promise(event["object"], gone=event["type"] == "DELETED"))
    except GONE:
        pass
    finally:
        client.close()


def check(server, record):
    client = server.client()
    newest = marker(client)
    listed = sent(client, "GET", MAPS)
    for mine in record.watched:
        catch_up(client, mine, mine[-1].revision if mine else record.first_revision, newest)
    story = record.watched[0]
    assert all(mine == story for mine in record.watched), "two watches report different events"
    revisions = [reported.revision for reported in story]
    assert revisions == sorted(set(revisions)), "a revision was reported twice or out of order"
    by_revision = {reported.revision: reported for reported in story}
    for kept in record.acknowledged:
        assert by_revision.get(kept.revision) == kept, "acknowledged, but reported differently"
    acknowledged = [kept.revision for kept in record.acknowledged]
    assert len(acknowledged) == len(set(acknowledged)), "one revision was acknowledged twice"
    expected = {}
    for reported in story:
        expected.pop(reported.name, None)
        if not reported.gone:
            expected[reported.name] = reported
    stored = [promise(item) for item in listed["items"] if item["metadata"]["name"] != "kube-root-ca.crt"]
    assert {entry.name: entry for entry in stored} == {
        name: reported for name, reported in expected.items() if name != "kube-root-ca.crt"
    }
    client.close()


def catch_up(client, mine, since, newest):
    """The remaining events."""
    with client.stream(f"{MAPS}?watch=true&resourceVersion={since}", seconds=10) as watch:
        while not mine or mine[-1].revision != newest:
            event = watch.next(seconds=10)
            assert event is not None, "the watch ended"
            assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
            mine.append(promise(event["object"], gone=event["type"] == "DELETED"))


def marker(client):
    """A write that every watch must report after everything before it."""
    body = {"data": {"time": str(time.monotonic_ns())}}
    answer = client.request(
        "PATCH", f"{MAPS}/marker", json.dumps(body).encode(), {"Content-Type": "application/merge-patch+json"}
    )
    if answer.status == 404:
        whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "marker"}} | body
        return int(sent(client, "POST", MAPS, whole)["metadata"]["resourceVersion"])
    assert answer.is_success, answer.content
    return int(answer.body["metadata"]["resourceVersion"])


@pytest.mark.parametrize("life", range(3))
def test_a_server_killed_while_it_starts_starts_again(tmp_path, life):
    server = ServerProcess(tmp_path)
    rng = random.Random(life)  # noqa: S311
    for _ in range(3):
        child = server.launch()
        time.sleep(rng.uniform(0.0, 0.8))
        child.stop(first=9)
    try:
        server.start()
        client = server.client()
        assert sent(client, "GET", "/api/v1/namespaces/default")["status"]["phase"] == "Active"
        client.close()
    finally:
        server.kill()
