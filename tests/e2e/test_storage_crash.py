"""Kill -9 at random moments under load: acknowledged writes survive, no event is repeated or missing.

This process keeps the record of acknowledgements in its own file; the store is not involved.
`JANGAR_CRASH_TRIALS=200` for the full proof.
"""

import asyncio
import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from e2e.storage_crash_lines import fingerprint
from picokube.apiserver.storage.sqlite_store import SqliteStore

TRIALS = int(os.environ.get("JANGAR_CRASH_TRIALS", "10"))
TESTS = Path(__file__).parents[1]


class Promise(NamedTuple):
    revision: int
    name: str
    fingerprint: str
    type: str = ""


class Record:
    """Output of the children before they died: an append-only file, synced before use."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab+")
        self.acknowledged: list[Promise] = []
        self.watched: list[Promise] = []

    def take(self, output: bytes) -> None:
        whole = output[: output.rfind(b"\n") + 1]
        self._file.write(whole)
        self._file.flush()
        os.fsync(self._file.fileno())
        for line in whole.decode().splitlines():
            kind, revision, *rest = line.split()
            (self.acknowledged if kind == "A" else self.watched).append(Promise(int(revision), *rest))

    @property
    def last_watched(self) -> int:
        return self.watched[-1].revision if self.watched else 1

    def close(self) -> None:
        self._file.close()


def test_a_killed_store_keeps_every_promise(tmp_path):
    rng = random.Random(os.environ.get("JANGAR_CRASH_SEED", ""))  # noqa: S311
    record = Record(tmp_path / "promises.log")
    path = tmp_path / "store.db"
    for trial in range(TRIALS):
        record.take(output_until_killed(path, record.last_watched, rng))
        # Every other time the next child opens the file as the last one left it.
        if trial % 2 or trial == TRIALS - 1:
            asyncio.run(check(path, record))
    assert len(record.acknowledged) > TRIALS, "the children did work"
    record.close()


def output_until_killed(path: Path, since: int, rng: random.Random) -> bytes:
    command = [sys.executable, str(TESTS / "e2e" / "storage_crash_child.py"), str(path), str(since)]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        output = bytearray()
        # Mostly at work, sometimes while it starts or recovers.
        at_work = rng.random() < 0.85
        while at_work and not output and (more := os.read(child.stdout.fileno(), 65536)):
            output += more
        end = time.monotonic() + rng.uniform(0, 0.5)
        while (left := end - time.monotonic()) > 0:
            if select.select([child.stdout], [], [], left)[0]:
                more = os.read(child.stdout.fileno(), 65536)
                assert more, "the child ended by itself"
                output += more
        assert child.poll() is None, "the child ended by itself"
        child.send_signal(signal.SIGKILL)
        while more := os.read(child.stdout.fileno(), 65536):
            output += more
    return bytes(output)


async def check(path: Path, record: Record) -> None:
    store = SqliteStore.open(path)
    watch = store.watch("pods", None, record.last_watched)
    while watch.revision < store.revision:
        for event in await anext(watch):
            stored = event.object
            reported = Promise(stored.revision, stored.key.name, fingerprint(stored.data), event.type.value)
            record.watched.append(reported)
    # All watches in sequence, across every crash, are one stream: no gap, no repeat, no revision reused.
    assert [reported.revision for reported in record.watched] == list(range(2, store.revision + 1))
    for kept in record.acknowledged:
        reported = record.watched[kept.revision - 2]
        assert reported[:3] == kept[:3], "acknowledged, but not what was stored"
    revisions = [kept.revision for kept in record.acknowledged]
    assert len(revisions) == len(set(revisions)), "one revision was acknowledged twice"
    expected = {}
    for reported in record.watched:
        expected.pop(reported.name, None)
        if reported.type != "DELETED":
            expected[reported.name] = (reported.revision, reported.fingerprint)
    stored_pods = {s.key.name: (s.revision, fingerprint(s.data)) for s in store.list("pods").objects}
    assert stored_pods == expected
    await store.close()
