"""A program below a closed home, started by a user who may not enter it: it is reached, and nothing else is."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from jangar.nodeagent.pods.own_programs import OwnProgram, Way, closed_directory, way_to
from jangar.nodeagent.supervisor import mount_namespace
from jangar.nodeagent.supervisor.orders import Mount, Order, RunKey, order_from_json, order_to_json
from jangar.nodeagent.supervisor.spawn import spawn
from support.runner_at_hand import why_no_runner

STRANGER = 65532
VOLUME = "/jangar-volume-of-a-test"
"""Nowhere on this machine."""
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
def home(tmp_path_factory):
    """A home that only its owner may enter, with a program, a secret, and a place to work."""
    top = Path("/tmp", f"jangar-home-{os.getpid()}")  # noqa: S108 - pytest's own is closed to others altogether
    home = top / "home"
    (home / "opt" / "tool").mkdir(parents=True)
    (home / "opt" / "other").mkdir()
    (home / "secret").write_text("nobody's business")
    (home / "work").mkdir()
    program = home / "opt" / "tool" / "run"
    program.write_text(SCRIPT.format(home=home, volume=VOLUME))
    program.chmod(0o755)
    home.chmod(0o700)
    yield home
    for each in sorted(top.rglob("*"), reverse=True):
        each.unlink() if each.is_file() else each.rmdir()
    top.rmdir()


def ordered(home, **fields):
    program = home / "opt" / "tool" / "run"
    way = way_to((OwnProgram(path=str(program), needs=(str(program.parent),)),), (str(program),), {})
    return Order(
        key=RunKey("p", "c", 0),
        argv=(str(program),),
        env={"PATH": "/usr/bin:/bin"},
        cwd=str(home / "work"),
        log="",
        mounts=way.mounts_with(str(home / "work")),
        hidden=way.hidden,
        **fields,
    )


def test_the_way_hides_the_outermost_closed_directory(home):
    """And brings the program's own directory back to its path, read-only."""
    order = ordered(home)
    assert order.hidden == (str(home),)
    assert [(each.source, each.target, each.read_only) for each in order.mounts] == [
        (str(home / "opt" / "tool"), str(home / "opt" / "tool"), True),
        (str(home / "work"), str(home / "work"), False),
    ]
    assert closed_directory(str(home / "opt" / "tool")) == str(home)
    home.chmod(0o711)
    assert ordered(home).hidden == ()
    assert ordered(home).mounts == ()


def test_other_commands_need_no_way(home):
    """Nothing of the machine is moved for them."""
    program = OwnProgram(path=str(home / "opt" / "tool" / "run"), needs=(str(home / "opt" / "tool"),))
    assert way_to((program,), ("sh", "-c", "true"), {"PATH": "/usr/bin:/bin"}) == Way()
    assert way_to((program,), ("not-there",), {"PATH": "/usr/bin:/bin"}) == Way()
    by_path = way_to((program,), ("run",), {"PATH": str(home / "opt" / "tool")})
    assert by_path.hidden == (str(home),)


def test_an_order_without_hidden_directories_is_what_it_always_was(home):
    """A supervisor of an earlier version takes it."""
    order = ordered(home)
    assert order_from_json(order_to_json(order)) == order
    home.chmod(0o711)
    assert "hidden" not in order_to_json(ordered(home))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's home is closed to its own containers")
def test_a_stranger_reaches_the_program_and_nothing_else(home, tmp_path, monkeypatch):
    """Nor a way to write, and no capability comes with it; volumes stand where they should."""
    mount_namespace.load()
    if not mount_namespace.works():
        pytest.skip("this machine allows no mount namespaces")
    said = tmp_path / "said"
    # As a supervisor whose directory lies below the same home.
    monkeypatch.chdir(home / "opt")
    order = ordered(home, user=STRANGER, group=STRANGER)
    volume = Mount(source=str(home / "opt" / "other"), target=f"{VOLUME}/deep")
    with said.open("wb") as out:
        pid = spawn(replace(order, mounts=(*order.mounts, volume)), out.fileno(), out.fileno())
    os.waitpid(pid, 0)
    lines = said.read_text().splitlines()
    assert "me 65532" in lines
    assert "caps 0000000000000000" in lines
    # Who may enter a directory need not be able to list it.
    assert "home " in lines
    assert "beside tool" in lines
    assert "written" not in lines
    assert "volume deep" in lines
    assert not any("nobody's business" in each for each in lines)
    assert str(home / "work") in lines
    assert (home / "secret").read_text() == "nobody's business"


def test_the_product_itself_can_be_started_here():
    """Wherever its Python lives."""
    assert why_no_runner() is None or closed_directory(sys.base_prefix) is not None
