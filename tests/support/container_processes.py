"""Processes of the containers that a supervisor of the node agent started, from the kernel's process list."""

import json
from contextlib import suppress
from pathlib import Path

MARK = b"JANGAR_CONTAINER_ID"


def container_processes(supervisor: Path) -> list[int]:
    """Only those of pods in the journal of this directory."""
    pods = _pods(supervisor / "journal")
    return [pid for pid, owner in _marked() if owner.partition("/")[0] in pods]


def _pods(journal: Path) -> set[str]:
    pids = set()
    for line in journal.read_text(errors="replace").splitlines() if journal.exists() else ():
        # The last line of a killed supervisor may be incomplete.
        with suppress(ValueError):
            fact = json.loads(line)
            pids.add(fact["pod"] if "pod" in fact else fact["key"][0])
    return pids


def _marked() -> list[tuple[int, str]]:
    pids = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            variables = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else ()
            for variable in variables:
                name, _, value = variable.partition(b"=")
                if name == MARK:
                    pids.append((int(entry.name), value.decode(errors="replace")))
    return pids
