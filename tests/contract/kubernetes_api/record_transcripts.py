"""Records transcripts from a real API server. Run: `make transcripts`, or with PYTHONPATH=tests
python -m contract.kubernetes_api.record_transcripts [--check] [PATTERN ...]

Every case runs three times, each time on a fresh server; a case with different records is printed and not stored.
`--check` stores nothing and lists transcripts that are missing, stale or without a case.
"""

import argparse
import fnmatch
import json
import sys
import time

from contract.kubernetes_api.catalogue import TRANSCRIPTS, Case, Run, cases, run
from contract.kubernetes_api.comparison import differences
from contract.kubernetes_api.ssa_sequences import RECORDED, a_sequence, as_json, play
from contract.kubernetes_api.standard_kinds import prepare
from support.api_servers import RealApiServer
from support.envtest import missing_parts

TIMES = 3
SEEDS = range(1001, 1041)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pattern", nargs="*", help="which cases, e.g. 'creating/*'; all when left out")
    parser.add_argument("--check", action="store_true", help="store nothing")
    parser.add_argument("--times", type=int, default=TIMES)
    options = parser.parse_args()
    if missing := missing_parts():
        print(f"record: {', '.join(missing)} not found; run 'make envtest'", file=sys.stderr)
        return 1
    wanted = [
        case
        for case in cases().values()
        if not options.pattern or any(fnmatch.fnmatch(case.name, p) for p in options.pattern)
    ]
    print(f"record: {len(wanted)} of {len(cases())} cases, {options.times} times each")
    runs = [_play(wanted, n + 1) for n in range(options.times)]
    failed = [
        case.name
        for case in wanted
        if not _record(case, [item[case.name] for item in runs], store=not options.check)
    ]
    if not options.pattern:
        failed += _record_apply(store=not options.check)
    orphans = [path for path in TRANSCRIPTS.rglob("*.json") if _name_of(path) not in cases()]
    for path in orphans:
        print(f"record: {path} has no case")
        if not options.check and not options.pattern:
            path.unlink()
    print(
        f"record: {len(wanted) - len(failed)} of {len(wanted)} cases recorded alike; not: {failed or 'none'}"
    )
    return 1 if failed or (orphans and options.check) else 0


def _play(wanted: list[Case], number: int) -> dict[str, Run]:
    began = time.monotonic()
    server = RealApiServer()
    try:
        prepare(server)
        runs = {case.name: run(case, server) for case in wanted}
    finally:
        server.stop()
    print(f"record: round {number} took {time.monotonic() - began:.0f} s", flush=True)
    return runs


def _record(case: Case, runs: list[Run], *, store: bool) -> bool:
    for again in runs:
        if again.stopped_by is not None:
            print(f"BROKEN  {case.name}: {type(again.stopped_by).__name__}: {again.stopped_by}")
            return False
        if differing := differences(runs[0].steps, again.steps):
            print(f"UNSTEADY {case.name}\n  " + "\n  ".join(str(difference) for difference in differing[:5]))
            return False
    text = runs[0].text(case)
    stored = case.transcript.read_text() if case.transcript.exists() else None
    word = "same" if stored == text else "new" if stored is None else "changed"
    if store and stored != text:
        case.transcript.parent.mkdir(parents=True, exist_ok=True)
        case.transcript.write_text(text)
    if word != "same":
        print(f"{word:8} {case.name} ({len(runs[0].steps)} steps)")
    return store or stored == text


def _record_apply(*, store: bool) -> list[str]:
    """Record the sequences that run on machines without a real server."""
    server = RealApiServer()
    try:
        prepare(server)
        rows = [
            (sequence, play(sequence, server), play(sequence, server)) for sequence in map(a_sequence, SEEDS)
        ]
    finally:
        server.stop()
    reported = [
        {"sequence": sequence, "outcomes": [as_json(one) for one in outcomes]}
        for sequence, outcomes, _ in rows
    ]
    text = "[\n" + ",\n".join(json.dumps(row, sort_keys=True) for row in reported) + "\n]\n"
    stored = RECORDED.read_text() if RECORDED.exists() else None
    print(
        f"{'same' if stored == text else 'changed':8} {len(reported)} sequences of writes by several managers"
    )
    if store:
        RECORDED.write_text(text)
    unsteady = [f"sequence {sequence['seed']}" for sequence, one, two in rows if one != two]
    return unsteady if store or stored == text else [*unsteady, RECORDED.name]


def _name_of(path) -> str:
    return str(path.relative_to(TRANSCRIPTS).with_suffix(""))


if __name__ == "__main__":
    sys.exit(main())
