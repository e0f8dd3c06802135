"""The files that the ends of logs are kept in."""

import os
import stat

import pytest

from jangar.controllers.kept_logs import BLOCK, RUN_BYTES, KeptLogs
from support.builders import NOON


def keep(files, *jobs, content=b"line\n"):
    for job in jobs:
        files.keep_one("ci", "c1", job=job, title=f"of {job}", content=content)


@pytest.mark.rule("GC-6")
def test_the_logs_of_several_jobs_are_read_in_the_order_in_which_they_were_kept(tmp_path):
    """Each under its title; one Job can be left out by who has it from elsewhere."""
    files = KeptLogs(tmp_path)
    assert files.read("ci", "c1") is None
    keep(files, "b", "a")
    assert files.read("ci", "c1") == b"==> of b <==\nline\n==> of a <==\nline\n"
    assert files.read("ci", "c1", but="a") == b"==> of b <==\nline\n"
    assert files.read("ci", "other") is None


def test_the_log_of_the_only_job_has_no_title(tmp_path):
    """And there is no other file."""
    files = KeptLogs(tmp_path)
    files.keep("ci", "c1", b"no end of line")
    assert files.read("ci", "c1") == b"no end of line"
    assert files.read("ci", "c1", but="its-job") is None
    assert files.has("ci", "c1", "its-job")


@pytest.mark.rule("RUN-3")
def test_a_log_that_is_kept_is_not_kept_again(tmp_path):
    """A process that was killed before it knew does it once more; half a file counts as none."""
    files = KeptLogs(tmp_path)
    keep(files, "a")
    assert (files.has("ci", "c1", "a"), files.has("ci", "c1", "b")) == (True, False)
    keep(files, "a", content=b"other\n")
    (path,) = (tmp_path / "ci" / "c1").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (tmp_path / "ci" / "c1" / "000002-b.part").write_bytes(b"half of it")
    assert not files.has("ci", "c1", "b")
    keep(files, "b")
    assert files.read("ci", "c1") == b"==> of a <==\nline\n==> of b <==\nline\n"


def test_a_log_cannot_pass_for_that_of_another_job(tmp_path):
    """What a program writes is never looked at to know what is kept."""
    files = KeptLogs(tmp_path)
    keep(files, "a", content=b"==> of b <==\nforged\n")
    assert not files.has("ci", "c1", "b")
    keep(files, "b")
    assert files.read("ci", "c1").endswith(b"forged\n==> of b <==\nline\n")


@pytest.mark.rule("GC-6")
@pytest.mark.parametrize("size", [10, BLOCK, 200_000])
def test_what_is_kept_of_one_run_is_bounded(tmp_path, size):
    """However often it loops: the oldest go, and a line says how many."""
    files = KeptLogs(tmp_path)
    jobs = [f"run-loop-{number}-1" for number in range(600)]
    keep(files, *jobs, content=b"x" * size)
    kept = list((tmp_path / "ci" / "c1").iterdir())
    assert sum(max(item.stat().st_size, BLOCK) for item in kept) <= RUN_BYTES
    assert len(kept) >= min(len(jobs), RUN_BYTES // max(size + 100, BLOCK))
    text = files.read("ci", "c1")
    assert text.startswith(b"(the logs of the first %d Jobs are not kept any more" % (600 - len(kept)))
    assert b"==> of run-loop-599-1 <==" in text
    assert b"==> of run-loop-0-1 <==" not in text


@pytest.mark.rule("GC-5", "GC-6")
def test_logs_of_several_jobs_go_when_their_time_is_over(tmp_path):
    """With the directory that they were in, once it is empty."""
    files = KeptLogs(tmp_path)
    keep(files, "a", "b")
    old, new = sorted((tmp_path / "ci" / "c1").iterdir())
    for path, seconds in ((old, -10), (new, 10)):
        os.utime(path, (NOON.timestamp() + seconds, NOON.timestamp() + seconds))
    files.delete_older(NOON)
    assert (files.has("ci", "c1", "a"), files.has("ci", "c1", "b")) == (False, True)
    os.utime(new, (NOON.timestamp() - 10, NOON.timestamp() - 10))
    files.delete_older(NOON)
    assert not (tmp_path / "ci" / "c1").exists()
    assert not files.has_any("ci", "c1")
