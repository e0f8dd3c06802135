"""Resource shortages are detected in errors, however they are wrapped."""

import asyncio
import errno
import os
import sqlite3

import pytest
import typer

from jangar.cli.error_messages import describe_failure, report_process_errors
from jangar.cli.exit_codes import ExitCode
from jangar.processes.shortages import Machine, machine_problems, shortage
from jangar.settings.variables import BadSettings
from kubekit.controller.manager import PartFailed
from kubekit.serving.listening import PortTaken

FULL = sqlite3.OperationalError("database or disk is full")
FULL.sqlite_errorcode = sqlite3.SQLITE_FULL


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "ulimit -u"),
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (OSError(errno.ENFILE, "Too many open files in system"), "fs.file-max"),
        (OSError(errno.ENOSPC, "No space left on device", "/data/x"), "/data/x"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "disk quota exceeded"),
        (MemoryError(), "out of memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "out of memory"),
        (FULL, "no space left on device"),
    ],
)
def test_a_shortage_names_its_limit_wherever_it_is(error, named):
    """Bare, in groups of groups, as a cause, and behind the failure of a part."""
    part = PartFailed("service history", "failed")
    part.__cause__ = ExceptionGroup("unhandled errors in a TaskGroup", [ValueError("other"), error])
    for wrapped in (error, ExceptionGroup("a", [ExceptionGroup("b", [error])]), part):
        assert named in shortage(wrapped)
        assert describe_failure(wrapped) == (shortage(wrapped), ExitCode.FAILED)


def test_other_errors_are_no_shortage():
    assert shortage(ValueError("x")) is None
    assert shortage(FileNotFoundError(errno.ENOENT, "No such file")) is None
    assert describe_failure(ExceptionGroup("a", [KeyError("x")])) == (None, ExitCode.FAILED)


@pytest.mark.parametrize(
    ("error", "code"), [(BadSettings(["A: bad", "B: bad"]), 2), (PortTaken("port 1 cannot be used"), 2)]
)
def test_mistakes_within_groups_are_sentences(error, code, capsys):
    """A line for each problem, and the exit code of wrong usage."""

    async def process():
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(30))
            raise error

    with pytest.raises(typer.Exit) as ended, report_process_errors("up"):
        asyncio.run(process())
    assert ended.value.exit_code == code
    assert capsys.readouterr().err.splitlines() == [f"jangar up: {line}" for line in str(error).splitlines()]


def test_a_machine_reports_what_is_about_to_run_out(tmp_path):
    """E4: `jangar status` and doctor warn before writes are refused."""
    assert machine_problems(Machine(10**12, 10, 1024), tmp_path) == []
    assert machine_problems(Machine(None, None, None), tmp_path) == []
    disk, files = machine_problems(Machine(10 * 1024 * 1024, 900, 1024), tmp_path)
    assert "10 MB left" in disk
    assert "900 of 1024" in files
    assert os.sep in disk
