"""A program below a private home directory, started by a user without access: only the program is reachable."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from picokube.nodeagent.pods.container_request import (
    HostProgram,
    ViewRequest,
    container_view,
    inaccessible_parent,
    required_directories,
)
from picokube.nodeagent.supervisor import kernel
from picokube.nodeagent.supervisor.container import Container
from picokube.nodeagent.supervisor.isolation import best_isolation
from picokube.nodeagent.supervisor.protocol import (
    Mount,
    RunKey,
    StartContainer,
    start_request_from_json,
    start_request_to_json,
)
from support.runner_availability import why_no_runner

STRANGER = 65532
VOLUME = "/jangar-volume-of-a-test"
"""A path that exists on no machine."""
SCRIPT = """#!/bin/sh
echo "me $(id -u)"
echo "caps $(grep CapEff /proc/self/status | cut -f2)"
echo "home $(ls -A {home})"
echo "volume $(ls -A {volume})"
echo "beside $(ls -A {home}/opt)"
cat {home}/secret 2>&1
touch {home}/opt/tool/mine 2>/dev/null && echo written
touch {home}/mine 2>/dev/null && echo written
pwd
"""


@pytest.fixture
def home():
    """A private home directory with a program, a secret, and a working directory."""
    top = Path(tempfile.mkdtemp(prefix="jangar-home-"))
    top.chmod(0o755)
    home = top / "home"
    (home / "opt" / "tool").mkdir(parents=True)
    (home / "opt" / "other").mkdir()
    (home / "secret").write_text("nobody's business")
    for name in ("work", "tmp"):
        (home / "data" / name).mkdir(parents=True)
    (home / "data" / "said").touch()
    program = home / "opt" / "tool" / "run"
    program.write_text(SCRIPT.format(home=home, volume=VOLUME))
    program.chmod(0o755)
    home.chmod(0o700)
    yield home
    shutil.rmtree(top)


def ordered(home, *volumes, user=STRANGER, **fields):
    program = home / "opt" / "tool" / "run"
    data = home / "data"
    request = ViewRequest(
        data=data,
        volumes=volumes,
        tmp=data / "tmp",
        work=data / "work",
        termination=data / "said",
        termination_path="/dev/termination-log",
        user=user,
        has_token=False,
        argv=(str(program),),
        env={},
        programs=(HostProgram(path=str(program), needs=(str(program.parent),)),),
    )
    view = container_view(request)
    return StartContainer(
        key=RunKey("p", "c", 0),
        argv=(str(program),),
        env={"PATH": "/usr/bin:/bin"},
        cwd=view.work,
        log=str(home.parent / "main.log"),
        mounts=view.mounts,
        hidden=view.hidden,
        user=user,
        group=user,
        **fields,
    )


def mounted(order):
    return {mount.target: (mount.source, mount.read_only) for mount in order.mounts}


def test_the_view_hides_the_outermost_closed_directory(home):
    """And mounts the program's own directory back at its path, read-only."""
    order = ordered(home)
    assert order.hidden == (str(home),)
    tool, work = str(home / "opt" / "tool"), str(home / "data" / "work")
    assert mounted(order)[tool] == (tool, True)
    assert mounted(order)[work] == (work, False)
    assert inaccessible_parent(tool) == str(home)
    home.chmod(0o711)
    assert ordered(home).hidden == (str(home / "data"),)
    assert tool not in mounted(ordered(home))


def test_other_commands_need_nothing(home):
    """Their file system is not changed."""
    program = HostProgram(path=str(home / "opt" / "tool" / "run"), needs=(str(home / "opt" / "tool"),))
    assert required_directories((program,), ("sh", "-c", "true"), {"PATH": "/usr/bin:/bin"}) == ()
    assert required_directories((program,), ("not-there",), {"PATH": "/usr/bin:/bin"}) == ()
    assert required_directories((program,), ("run",), {"PATH": str(home / "opt" / "tool")}) == program.needs


def test_a_start_request_is_serialized_as_json(home):
    """Unknown fields of a later version are ignored."""
    order = ordered(home)
    assert start_request_from_json(start_request_to_json(order)) == order
    assert start_request_from_json(start_request_to_json(order) | {"of-a-later-version": 1}) == order


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's home is closed to its own containers")
def test_another_user_reaches_only_the_program(home, monkeypatch):
    """Without write access and capabilities; volumes are mounted at their paths."""
    kernel.load_libc()
    isolation = best_isolation()
    if not isolation.has_mounts:
        pytest.skip("this machine allows no mount namespaces")
    os.chown(home / "data" / "work", STRANGER, -1)
    # Like a supervisor whose directory is below the same home.
    monkeypatch.chdir(home / "opt")
    order = ordered(home, Mount(source=str(home / "opt" / "other"), target=f"{VOLUME}/deep"))
    container = Container(order, isolation, 1024)
    container.go()
    container.confirm()
    os.waitpid(container.pid, 0)
    container.close()
    lines = [line.split(" ", 3)[3] for line in (home.parent / "main.log").read_text().splitlines()]
    assert "me 65532" in lines
    assert "caps 0000000000000000" in lines
    # A user with search permission on a directory may lack read permission.
    assert "home " in lines
    assert "beside tool" in lines
    assert "written" not in lines
    assert "volume deep" in lines
    assert not any("nobody's business" in item for item in lines)
    assert str(home / "data" / "work") in lines
    assert (home / "secret").read_text() == "nobody's business"


def test_the_product_itself_can_be_started_here():
    """Wherever its Python is installed."""
    assert why_no_runner() is None or inaccessible_parent(sys.base_prefix) is not None
