"""The last lines of work, kept after its pod is gone."""

import asyncio
import base64
import os
import stat

import pytest

from jangar.controllers.log_tails import CUT, READ_BYTES, TAIL_BYTES, TAIL_LINES, LogTails
from kubekit.cache.object_cache import Cache, Cached
from kubekit.client.api_client import Client
from kubekit.client.errors import Ambiguous, NotSent, TooManyRequests
from support.answering_transport import AnsweringTransport
from support.builders import NOON


def keep(tails, uid="c1", **one):
    asyncio.run(tails.keep(namespace="ci", uid=uid, pod="build-x", container="main", **one))


@pytest.mark.rule("GC-6")
def test_a_tail_is_kept_whole_and_for_its_owner_only(tmp_path):
    """Bounded in lines and bytes, in a file that only its owner can read."""
    transport = AnsweringTransport(b"one\ntwo\n", b"three\n")
    tails = LogTails(Client(transport, manager="test"), tmp_path / "tails", lambda: NOON)
    assert not tails.files.has("ci", "c1")
    keep(tails)
    assert tails.files.has("ci", "c1")
    assert tails.files.path("ci", "c1").read_bytes() == b"one\ntwo\n"
    assert stat.S_IMODE(tails.files.path("ci", "c1").stat().st_mode) == 0o600
    assert transport.requests[0].query == {
        "container": "main",
        "tailLines": str(TAIL_LINES + 1),
        "limitBytes": str(READ_BYTES),
    }
    tails.files.path("ci", "c1").with_suffix(".part").write_bytes(b"of a process that died")
    keep(tails)
    assert tails.files.path("ci", "c1").read_bytes() == b"three\n"


@pytest.mark.rule("GC-6")
@pytest.mark.parametrize(
    ("log", "kept"),
    [
        pytest.param(b"".join(b"%d\n" % n for n in range(1001)), 1000, id="one-line-too-many"),
        pytest.param((b"x" * 1023 + b"\n") * 900, 255, id="too-many-bytes"),
        pytest.param((b"x" * 1023 + b"\n") * 200, 200, id="whole"),
    ],
)
def test_a_tail_that_is_cut_says_so_in_its_first_line(tmp_path, log, kept):
    """B11: what is kept begins with a whole line and ends with the last one that was written."""
    tails = LogTails(Client(AnsweringTransport(log), manager="test"), tmp_path, lambda: NOON)
    keep(tails)
    found = tails.files.path("ci", "c1").read_bytes()
    is_cut = found.startswith(CUT)
    lines = found.removeprefix(CUT).splitlines()
    assert (len(lines), is_cut) == (kept, kept < len(log.splitlines()))
    assert lines == log.splitlines()[-kept:]
    assert len(found) <= TAIL_BYTES + len(CUT)


@pytest.mark.rule("GC-6")
def test_the_end_of_a_log_of_very_long_lines_is_kept(tmp_path):
    """B11: an API cuts the end where a limit of bytes is reached, so fewer lines are asked for."""
    transport = AnsweringTransport(b"x" * READ_BYTES, b"y" * 9000 + b"\nlast\n")
    tails = LogTails(Client(transport, manager="test"), tmp_path, lambda: NOON)
    keep(tails)
    assert [item.query["tailLines"] for item in transport.requests] == ["1001", "101"]
    assert tails.files.path("ci", "c1").read_bytes().endswith(b"\nlast\n")


@pytest.mark.rule("GC-6")
@pytest.mark.parametrize("status", [400, 404, 500])
def test_logs_that_are_lost_do_not_hold_the_pod(tmp_path, status):
    """A pod that is gone or a node that does not answer: the reason is kept instead."""
    tails = LogTails(Client(AnsweringTransport(status), manager="test"), tmp_path, lambda: NOON)
    keep(tails)
    assert tails.files.path("ci", "c1").read_bytes() == b"(no log: on order)\n"


@pytest.mark.rule("GC-6")
@pytest.mark.parametrize("error", [NotSent("x"), Ambiguous("x"), TooManyRequests("x")])
def test_logs_that_can_be_read_later_are_not_given_up(tmp_path, error):
    """The API server itself is busy or out of reach."""
    tails = LogTails(Client(AnsweringTransport(error), manager="test"), tmp_path, lambda: NOON)
    with pytest.raises(type(error)):
        keep(tails)
    assert not tails.files.has("ci", "c1")


@pytest.mark.rule("GC-5", "GC-6")
def test_tails_go_when_their_time_is_over(tmp_path):
    """What was stored before the moment is deleted, what came later stays."""
    tails = LogTails(Client(AnsweringTransport(b"old", b"new"), manager="test"), tmp_path, lambda: NOON)
    keep(tails, "old")
    keep(tails, "new")
    os.utime(tails.files.path("ci", "old"), (NOON.timestamp() - 10, NOON.timestamp() - 10))
    os.utime(tails.files.path("ci", "new"), (NOON.timestamp() + 10, NOON.timestamp() + 10))
    tails.files.delete_older(NOON)
    assert (tails.files.has("ci", "old"), tails.files.has("ci", "new")) == (False, True)


def pods_with(pod):
    cache = Cache(report=lambda error: pytest.fail(str(error)))
    cache.upsert(
        Cached.of(
            {"metadata": {"name": "build-x", "namespace": "ci", "uid": "p", "resourceVersion": "1"}, **pod}
        )
    )
    return cache


GIVEN = {"spec": {"containers": [{"envFrom": [{"secretRef": {"name": "token"}}]}]}}
SECRET = {"metadata": {"name": "token"}, "data": {"t": base64.b64encode(b"hunter22").decode()}}


@pytest.mark.rule("GC-6")
def test_values_of_referenced_secrets_are_masked_in_a_tail(tmp_path):
    """Secret values are redacted from the tail; the history keeper is notified of it."""
    reported = []
    transport = AnsweringTransport(b"login hunter22 ok\n", SECRET)
    tails = LogTails(
        Client(transport, manager="test"),
        tmp_path,
        lambda: NOON,
        pods=pods_with(GIVEN),
        on_kept=lambda namespace, uid, _: reported.append((namespace, uid)),
    )
    keep(tails)
    assert asyncio.run(tails.read("ci", "c1")) == "login *** ok\n"
    assert asyncio.run(tails.read("ci", "other")) is None
    assert reported == [("ci", "c1")]


@pytest.mark.rule("GC-6")
@pytest.mark.parametrize("status", [403, 404])
def test_a_tail_that_cannot_be_masked_is_not_kept(tmp_path, status):
    """A Secret that we may not read, or that is gone: the reason is kept instead."""
    transport = AnsweringTransport(b"login hunter22 ok\n", status)
    tails = LogTails(Client(transport, manager="test"), tmp_path, lambda: NOON, pods=pods_with(GIVEN))
    keep(tails)
    assert tails.files.path("ci", "c1").read_bytes() == b"(no log: on order)\n"


@pytest.mark.rule("GC-6")
def test_the_tail_of_each_job_of_several_is_kept_once_and_masked(tmp_path):
    """Also where the controller was killed after it was kept and before that was known."""
    answers = (b"hunter22 one\n", SECRET, b"one again\n", SECRET, b"two", SECRET)
    transport = AnsweringTransport(*answers)
    tails = LogTails(Client(transport, manager="test"), tmp_path, lambda: NOON, pods=pods_with(GIVEN))
    keep(tails, job="run-plan-1-x", title="step plan, attempt 1")
    keep(tails, job="run-plan-1-x", title="step plan, attempt 1")
    keep(tails, job="run-code-1-y", title="step code, attempt 1")
    reported = "==> step plan, attempt 1 <==\n*** one\n==> step code, attempt 1 <==\ntwo\n"
    assert asyncio.run(tails.read("ci", "c1")) == reported
