"""Escape attempts of steps on a laptop, as root and as a plain user. Every row of the guide's table is tried.

E8, E10, E13, A1, A12: processes of a step end with it, and it can neither see other steps nor read anything of the
control plane.
"""

import json
import os
import re
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from e2e.laptop_process import LaptopProcess, run, step, tool
from picokube.nodeagent.node import ISOLATION
from support.laptop_users import give_to_plain_user, laptop_users

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "node-agent.md"
STARTS = {
    "a background process": "sleep {token} &",
    "`setsid`": "setsid sleep {token} &",
    "`env -i setsid`": "env -i setsid sleep {token} &",
    "a double fork": "(setsid sh -c 'sleep {token} & exit 0' &);",
    "a daemon": "env -i setsid sh -c 'cd /; (trap \"\" HUP TERM; sleep {token}) </dev/null >/dev/null 2>&1 &'",
}
"""Ways in which a process leaves its parent; the sleep is identified by its argument."""
READS = {
    "the API's database": "cat {data}/objects.db {data}/*.db {data}/*.sqlite",
    "the kubeconfig": "cat {data}/kubeconfig",
    "the page's token": "cat {data}/page-token {data}/laptop.json",
    "keys and certificates": "cat {data}/*.key {data}/*.pem {data}/*/*.key {data}/*/*.pem",
    "logs of other steps": "cat {data}/pod-logs/*/*.log",
    "the supervisor's journal": "cat {data}/supervisor/journal",
    "files of other steps": "cat {data}/scratch/*/secret",
    "HOME and /tmp of other steps": "cat /tmp/secret $HOME/secret",
    "memory of the supervisor": "cat /proc/1/environ /proc/1/maps /proc/1/mem",
}
"""Shell commands that must print nothing."""
TRIES = {
    "processes of other steps": "grep -alzx '[4]{victim}' /proc/[0-9]*/cmdline",
    "`ptrace` of other steps": (
        "for p in /proc/[0-9]*; do [ $p = /proc/1 ] || [ ! -e $p/environ ] ||"
        " grep -aq $JANGAR_CONTAINER_ID $p/environ || [ ! -e $p/environ ] || echo $p; done"
    ),
    "`su` and other programs of root": "su -s /bin/sh -c 'id -u' </dev/null 2>/dev/null | grep -x 0",
}
"""Shell commands that must print nothing: no process but the step's own, and no uid 0."""
SIGNALS = "signals to other steps"


@pytest.fixture(scope="module", params=laptop_users())
def laptop(request):
    prefix = request.param
    home = Path(tempfile.mkdtemp(prefix="jangar-escape-"))
    if prefix:
        give_to_plain_user(home, prefix)
    laptop = LaptopProcess(home, *prefix)
    try:
        laptop.start()
        isolation = _node(laptop)["metadata"]["annotations"][ISOLATION]
        if isolation != "pid-namespace":
            pytest.skip(f"this machine allows no PID namespaces (isolation: {isolation})")
        yield laptop
    finally:
        laptop.end()
        shutil.rmtree(home, ignore_errors=True)


def _node(laptop):
    def registered():
        nodes = json.loads(laptop.done("get", "nodes", "-o", "json"))
        items = nodes.get("items", [nodes])
        return items and ISOLATION in (items[0]["metadata"].get("annotations") or {}) and items[0]

    return laptop.until(registered)


def alive(token):
    """Processes of this machine that have the token as an argument."""
    pids = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else ()
        except OSError:
            continue
        if token.encode() in words:
            pids.append(int(entry.name))
    return pids


def a_token(name):
    """A unique number of seconds to sleep."""
    return f"4011.{os.getpid()}{abs(hash((name, time.monotonic_ns()))) % 10**9}"


def finished(laptop, name, phase="Succeeded"):
    laptop.until(lambda: laptop.phase(name) in {"Succeeded", "Failed", "Cancelled"})
    assert laptop.phase(name) == phase, laptop.jangar("logs", name).stdout


def test_no_process_of_a_step_survives_it(laptop):
    """E10: however it was started, once the step has ended by itself."""
    tokens = {name: a_token(name) for name in STARTS}
    tools = [
        tool(f"start-{n}", script.format(token=tokens[name]) + " sleep 0.2; echo started")
        for n, (name, script) in enumerate(STARTS.items())
    ]
    laptop.apply(*tools, run("ended", *(step(f"s{n}", f"start-{n}") for n in range(len(tools)))))
    finished(laptop, "ended")
    assert {name: alive(token) for name, token in tokens.items()} == {name: [] for name in STARTS}


@pytest.mark.rule("CAN-4")
@pytest.mark.parametrize("end", ["cancel", "timeout"])
def test_nothing_survives_a_cancel_or_a_timeout(laptop, end):
    """E10: processes that ignore SIGTERM or left their group and session are killed."""
    tokens = [a_token(end) for _ in STARTS]
    script = " ".join(item.format(token=token) for item, token in zip(STARTS.values(), tokens, strict=True))
    only = step("only", f"stays-{end}")
    if end == "timeout":
        only["timeoutSeconds"] = 3
    laptop.apply(tool(f"stays-{end}", script + " trap '' TERM; wait; sleep 100"), run(f"by-{end}", only))
    laptop.until(lambda: all(alive(token) for token in tokens))
    if end == "cancel":
        laptop.done("cancel", f"by-{end}")
    finished(laptop, f"by-{end}", "Cancelled" if end == "cancel" else "Failed")
    laptop.until(lambda: not any(alive(token) for token in tokens))


def test_a_step_cannot_read_or_reach_anything_of_others(laptop):
    """E8, E13, A12: the rows of the guide's table, tried while another step runs."""
    victim = a_token("victim")
    scripts = [read.format(data=laptop.data, victim=victim[1:]) for read in (READS | TRIES).values()]
    tries = [
        f'got=$( ( {script} ) 2>/dev/null | head -c 200 | tr -d "\\0"); echo "try-{n}:[$got]"'
        for n, script in enumerate(scripts)
    ]
    target = f"echo stolen > /tmp/secret; echo stolen > $HOME/secret; echo stolen > secret; sleep {victim} & "
    laptop.apply(
        tool("victim", target + "sleep 3; kill $! && echo alive"),
        tool("kills", "kill -9 -1; echo done"),
        tool("tries", "; ".join(tries)),
        run("escape", step("victim", "victim"), step("kills", "kills"), step("tries", "tries")),
    )
    finished(laptop, "escape")
    output = laptop.done("logs", "escape")
    got = dict(zip(READS | TRIES, re.findall(r"try-\d+:(.*)", output), strict=True))
    assert got == dict.fromkeys(READS | TRIES, "[]")
    assert re.search(r"victim .*alive", output)


def test_a_step_gains_no_privileges_and_may_still_create_sandboxes(laptop):
    """E8, A1: no_new_privs is set, volumes do not cover the system, and user namespaces work."""
    script = "grep NoNewPrivs /proc/self/status; unshare -Ur true && echo namespace; pwd; git init -q . && echo git"
    if shutil.which("bwrap"):
        script += "; bwrap --ro-bind / / --dev /dev --proc /proc --unshare-pid --unshare-net echo sandbox"
    laptop.apply(tool("rights", script), run("rights", step("only", "rights")))
    finished(laptop, "rights")
    output = laptop.done("logs", "rights")
    assert re.search(r"NoNewPrivs:\s*1", output)
    assert "namespace" in output
    assert ("sandbox" in output) == bool(shutil.which("bwrap"))
    assert ("git" in output) == bool(shutil.which("git"))


def test_the_guide_lists_every_attempt():
    """Each attempt is listed as prevented, or with the reason why it is not."""
    rows = re.findall(r"^\| (.+?) \| (held|not held) \|", GUIDE.read_text(), re.MULTILINE)
    held = {name for name, verdict in rows if verdict == "held"}
    assert held == {*STARTS, *READS, *TRIES, SIGNALS, "volumes over the machine's system"}
    assert {name for name, verdict in rows if verdict == "not held"}
