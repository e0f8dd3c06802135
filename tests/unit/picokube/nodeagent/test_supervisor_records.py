"""What the supervisor remembers, and the form of its logs."""

import json
import re
import resource
from contextlib import contextmanager

import pytest

from picokube.apiserver.handlers.pods import LogOptions, LogReader
from picokube.apiserver.handlers.pods import log_path as log_path_of_the_api_server
from picokube.nodeagent.supervisor.cri_log import MAX_LINE_LENGTH, LogFile, log_path
from picokube.nodeagent.supervisor.journal import (
    Journal,
    ended_entry,
    forgotten_entry,
    intended_entry,
    lost_run,
    started_entry,
    withdrawn_entry,
)
from picokube.nodeagent.supervisor.kernel import max_containers, too_many_files, too_many_processes
from picokube.nodeagent.supervisor.protocol import Run, RunKey

KEY = RunKey("pod", "main", 0)


def ended(key=KEY, code=3):
    return ended_entry(Run(key=key, state="ended", code=code, finished_at=9.0))


def test_what_was_recorded_is_known_again(tmp_path):
    """A new journal on the same file knows every run, and how it ended."""
    journal = Journal(tmp_path / "journal")
    journal.write(intended_entry(KEY, "boot", 1.0))
    journal.write(started_entry(KEY, 7, 70, 2.0))
    journal.write(ended())
    journal.sync()
    state = Journal(tmp_path / "journal").state
    assert state.runs[KEY] == Run(key=KEY, state="ended", pid=7, started_at=2.0, finished_at=9.0, code=3)
    assert (state.boots[KEY], state.start_ticks[KEY]) == ("boot", 70)


@pytest.mark.rule("RUN-3")
@pytest.mark.parametrize("cut", range(1, 40, 7))
def test_a_line_that_a_crash_cut_short_is_passed_over(tmp_path, cut):
    """It was not acknowledged; earlier records are complete."""
    journal = Journal(tmp_path / "journal")
    journal.write(intended_entry(KEY, "boot", 1.0))
    journal.write(ended())
    path = tmp_path / "journal"
    path.write_bytes(path.read_bytes()[:-cut])
    run = Journal(path).state.runs[KEY]
    assert run.state == ("ended" if cut == 1 else "intended")


def test_pods_that_are_forgotten_leave_nothing(tmp_path):
    journal = Journal(tmp_path / "journal")
    for pod in ("a", "b"):
        journal.write(intended_entry(RunKey(pod, "main", 0), "boot", 1.0))
    journal.write(forgotten_entry("a"))
    assert [key.pod for key in Journal(tmp_path / "journal").state.runs] == ["b"]
    assert b'"a"' not in (tmp_path / "journal").read_bytes()


def test_facts_are_lines_of_json(tmp_path):
    journal = Journal(tmp_path / "journal")
    journal.write(intended_entry(KEY, "boot", 1.0))
    assert json.loads((tmp_path / "journal").read_text()) == intended_entry(KEY, "boot", 1.0)


@pytest.mark.rule("RUN-3")
@pytest.mark.parametrize(
    ("flags", "reason", "fragment"),
    [
        ({"was_running": True, "rebooted": False}, "SupervisorLost", "was killed"),
        ({"was_running": False, "rebooted": False}, "SupervisorLost", "unknown"),
        ({"was_running": False, "rebooted": True}, "NodeRebooted", "restarted"),
    ],
)
def test_a_run_whose_end_was_missed_says_why(flags, reason, fragment):
    found = lost_run(Run(key=KEY), now=5.0, **flags)
    assert (found.state, found.reason, found.code) == ("lost", reason, 137)
    assert fragment in found.message


def read(path, **options):
    return LogReader(path, LogOptions(container="main", **options)).read()


def test_the_agent_writes_logs_where_and_as_the_api_server_reads_them(tmp_path):
    """Both know the layout by themselves: neither imports the other."""
    for previous in (False, True):
        assert log_path(tmp_path, "uid", "main", previous=previous) == log_path_of_the_api_server(
            tmp_path, "uid", "main", previous=previous
        )
    path = log_path(tmp_path, "uid", "main")
    log = LogFile(path)
    log.write(0, b"one\ntw")
    log.write(1, b"err\n")
    log.write(0, b"o\nrest")
    log.close()
    assert read(path) == b"one\nerr\ntwo\nrest"
    assert re.fullmatch(rb"\S+T\S+\.\d{9}Z one", read(path, timestamps=True).split(b"\n")[0])


@pytest.mark.parametrize(
    "size", [MAX_LINE_LENGTH - 1, MAX_LINE_LENGTH, MAX_LINE_LENGTH + 1, 3 * MAX_LINE_LENGTH]
)
@pytest.mark.parametrize("chunk", [1000, 10**6])
def test_long_lines_are_cut_into_parts_and_read_as_one(tmp_path, size, chunk):
    text = b"x" * size + b"\nnext\n"
    path = log_path(tmp_path, "uid", "main")
    log = LogFile(path)
    for start in range(0, len(text), chunk):
        log.write(0, text[start : start + chunk])
    log.close()
    assert read(path) == text
    assert all(len(line) < MAX_LINE_LENGTH + 100 for line in path.read_bytes().split(b"\n"))


def test_a_restart_keeps_the_log_before(tmp_path):
    path = log_path(tmp_path, "uid", "main")
    for text in (b"first\n", b"second\n", b"third\n"):
        log = LogFile(path)
        log.write(0, text)
        log.close()
    assert read(path) == b"third\n"
    assert read(log_path(tmp_path, "uid", "main", previous=True)) == b"second\n"


def test_a_log_that_grows_too_large_is_rotated_once(tmp_path):
    """One old file is kept; lines are never torn."""
    path = log_path(tmp_path, "uid", "main")
    log = LogFile(path, max_bytes=1000)
    for number in range(100):
        log.write(0, b"line %03d\n" % number)
    log.close()
    old = path.with_suffix(".log.1")
    assert sorted(item.name for item in path.parent.iterdir()) == ["main.log", "main.log.1"]
    assert path.stat().st_size <= 1000
    together = read(old) + read(path)
    assert together.endswith(b"line 099\n")
    assert all(re.fullmatch(rb"line \d{3}", line) for line in together.split(b"\n")[:-1])


@contextmanager
def full_disk(size):
    """No file of this process can grow beyond a size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.rule("RUN-3")
def test_a_journal_that_cannot_be_written_holds_its_facts(tmp_path):
    """E4: an end is known at once and on disk when there is room; an intent is all there or not at all."""
    path = tmp_path / "journal"
    journal = Journal(path)
    other = RunKey("other", "main", 0)
    assert journal.append_durably([intended_entry(KEY, "boot", 1.0)])
    with full_disk(path.stat().st_size + 10):
        journal.write(ended_entry(Run(key=KEY, state="ended", code=7, finished_at=2.0)))
        assert journal.has_unwritten
        assert not journal.sync()
        assert not journal.append_durably([intended_entry(other, "boot", 3.0)])
        assert journal.state.runs[KEY].code == 7
        assert other not in journal.state.runs
    assert journal.sync()
    assert not journal.has_unwritten
    assert [(run.state, run.code) for run in Journal(path).state.runs.values()] == [("ended", 7)]


def test_a_withdrawn_start_may_be_requested_again(tmp_path):
    journal = Journal(tmp_path / "journal")
    assert journal.append_durably([intended_entry(KEY, "boot", 1.0)])
    journal.write(withdrawn_entry(KEY))
    assert Journal(tmp_path / "journal").state.runs == {}


def test_a_log_that_cannot_be_written_says_what_is_missing(tmp_path):
    """E4: lines are lost and no line is torn; the next that can be written says how many bytes."""
    path = log_path(tmp_path, "uid", "main")
    log = LogFile(path)
    log.write(0, b"first\n")
    with full_disk(path.stat().st_size + 20):
        log.write(0, b"lost\n")
        log.write(1, b"lost too\n")
    log.write(0, b"last\n")
    log.close()
    marker = b"[12 bytes of output lost: the log could not be written]\n"
    assert read(path) == b"first\n" + marker + b"last\n"


def test_containers_fit_below_the_limits():
    """E4: three files a container and some for the supervisor; three processes a container."""
    assert [max_containers(files) for files in (64, 256, 512, 1024)] == [5, 69, 154, 325]
    assert too_many_files(68, 256) is None
    refusal = too_many_files(69, 256)
    assert refusal is not None
    assert (refusal.reason, "`ulimit -n`" in refusal.message) == ("TooManyOpenFiles", True)
    assert too_many_processes(97, 100) is None
    refusal = too_many_processes(98, 100)
    assert refusal is not None
    assert (refusal.reason, "`ulimit -u`" in refusal.message) == ("TooManyProcesses", True)
