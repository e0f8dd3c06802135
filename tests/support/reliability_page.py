"""The reliability page: for each row of the matrix the trials, the failures, and the resulting confidence.

Works from test reports only, so that it also counts results of pytest-xdist workers. Written to JANGAR_PROVE_PAGE.
Beds may run separately: if JANGAR_PROVE_RECORDS names a directory, each run stores its counts there, and the page
includes all runs of the same commit.
"""

import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TRIALS = "reliability"
PAGE = "JANGAR_PROVE_PAGE"
DATE = "JANGAR_PROVE_DATE"
RECORDS = "JANGAR_PROVE_RECORDS"
WORKER = "PYTEST_XDIST_WORKER"
"""Set in a process whose reports another process also has."""

HOLDS = {
    1: "I1 I2 I3 I9",
    2: "I1 I2 I3 I9",
    3: "I2 I14",
    4: "I1 I2",
    5: "I1 I5",
    6: "I2 I10",
    7: "I1",
    8: "I1, one writer",
    9: "I3, TTL never early",
    10: "I2 I14",
    11: "I9, work runs once",
    12: "I2, right reason",
    13: "I2 I7 I8",
    14: "I7",
    16: "I5 I6",
    19: "I2, no row lost",
    21: "stays below the root",
    22: "stays data",
    23: "I11",
    24: "status unaffected",
}
"""The purpose of each row; every simulated trial checks all of them."""
OTHER_PURPOSES = {
    "admission": "no limit broken, none starved",
    "hostile tenant": "/livez within 250 ms, memory below 1 GiB, the others' runs succeed",
    "security": "no more rights than allowed",
    "starvation": "no step lost, done twice or recorded wrongly; no restart",
    "tenants": "no Secret without a binding, nothing foreign adopted",
}
"""The same for rows that are not in the matrix, by the text before the colon."""

INVARIANTS = {
    "I1": "at most one live Job for a run, step and attempt; none is created for a run that has ended",
    "I2": "a run reaches exactly one terminal phase, once, and never leaves it",
    "I3": "startedAt and finishedAt never change once set, and are in order, also between parent and child",
    "I4": "observedGeneration never decreases and never exceeds generation",
    "I5": "a step starts only when its dependencies allow it",
    "I6": "a skipped step has no Job, and has a reason and causes",
    "I7": "after a cancel is acknowledged nothing is started, and everything known ends or is listed as left behind",
    "I8": "a cancel of a run that has ended changes one condition, observedGeneration and updatedAt",
    "I9": "an outcome is recorded before its Job is released",
    "I10": "no write without resourceVersion, uid or a field manager: the client refuses to send one",
    "I11": "no secret value in anything that we write: objects, events, logs, history, metrics",
    "I14": "the same inputs come to the same end",
    "I15": "no write that changes nothing",
}

NOT_DONE = "Row 13 leaves approvals out: there are none yet. Rows that are not listed are not proven yet."

RESIDUE = (
    "One window is known, and it takes three things at once. The answer to a Job's create is lost, or its sender dies; "
    "before the controllers look again, a user removes the finalizers of the Job and its pods by force and deletes "
    "them; and the API server has by then forgotten that moment (410 Gone: etcd is compacted every five minutes by "
    "default). The Job is then created again, and its work runs a second time. While the server remembers, the Job is "
    "found in its history, and `onJobMissing` decides."
)

BEDS = {
    "S": "simulation: the controllers, the embedded server's own handlers and storage, and a scripted cluster, "
    "in virtual time",
    "P": "processes: `jangar apiserver`, `jangar controllers` and `jangar node-agent` on loopback, with real "
    "signals and sockets",
    "R": "real: kube-apiserver, etcd and kube-controller-manager of Kubernetes; pods are processes of this machine",
    "G": "generated: the product's own rules and programs on random input",
}


def record_trials(
    record_property: Callable[[str, object], None],
    *,
    row: str,
    bed: str,
    seeds: Sequence[int],
    failures: int,
) -> None:
    """Record these trials for the page. Called once in a test, before it fails."""
    if seeds:
        results = {
            "row": row,
            "bed": bed,
            "trials": len(seeds),
            "failures": failures,
            "first": min(seeds),
            "last": max(seeds),
        }
        record_property(TRIALS, json.dumps(results))


@dataclass(slots=True)
class Row:
    """One line of the page."""

    row: str
    bed: str
    trials: int = 0
    failures: int = 0
    seeds: list[int] = field(default_factory=list)

    @property
    def number(self) -> tuple[int, str]:
        digits = self.row.split(":")[0].split("-")[0]
        return (int(digits) if digits.isdigit() else 99, self.row)

    def line(self) -> str:
        bound = f"{3 / self.trials:.2g}" if not self.failures else "-"
        seeds = f"{min(self.seeds)} to {max(self.seeds)}"
        holds = HOLDS.get(self.number[0]) or OTHER_PURPOSES.get(self.row.split(":")[0], "")
        return (
            f"| {self.row} | {self.bed} | {holds} | {self.trials:,} | {self.failures} | {bound} | {seeds} |"
        )


def rows(properties: Iterable[tuple[str, Any]]) -> list[Row]:
    """The results of the tests of each row in the order of the matrix."""
    by_row: dict[tuple[str, str], Row] = {}
    for name, value in properties:
        if name == TRIALS:
            reported = json.loads(value)
            row = by_row.setdefault((reported["row"], reported["bed"]), Row(reported["row"], reported["bed"]))
            row.trials += reported["trials"]
            row.failures += reported["failures"]
            row.seeds += [reported["first"], reported["last"]]
    return sorted(by_row.values(), key=lambda item: (item.number, item.bed))


def page(
    page_rows: Sequence[Row], *, commit: str, date: str, machine: str, uncounted: Sequence[str] = ()
) -> str:
    """The text of the page; `uncounted` are tests that failed before they recorded their trials."""
    trials, failures = sum(item.trials for item in page_rows), sum(item.failures for item in page_rows)
    return "\n".join(
        [
            "# Reliability",
            "",
            "What was done to Jangar's engine, how often, and how often it was not as it should be. Written by",
            "`make prove`; nothing on this page is typed by hand.",
            "",
            f"{', '.join(item for item in (f'Commit `{commit}`', date, machine) if item)}:",
            f"{trials:,} trials, {failures} failed.",
            "",
            "A trial is a whole run under faults that follow from its seed. It fails if an invariant does not hold at",
            "any committed version of any object, if the run ends otherwise than it should, if work ran more often",
            "than it may, or if anything stays held. In rows about input (G) a trial is one generated example. Zero",
            "failures in N trials bound the rate of failures at about 3/N (95 %).",
            "",
            *(f"- **{name}**, {what}." for name, what in BEDS.items()),
            "",
            "| Fault | Bed | Invariants | Trials | Failures | Bound | Seeds |",
            "|---|---|---|---:|---:|---:|---|",
            *(item.line() for item in page_rows),
            "",
            NOT_DONE,
            "",
            "## Invariants",
            "",
            *(f"- **{name}**: {what}." for name, what in INVARIANTS.items()),
            "",
            "## What is not covered",
            "",
            RESIDUE,
            "",
            *(f"Failed before it could count its trials: `{item}`.\n" for item in uncounted),
        ]
    )


def write_reliability_page(terminal: Any) -> None:
    """Write the page at the end of a test run, if requested and if there are results."""
    if os.environ.get(WORKER):
        return
    target = os.environ.get(PAGE)
    outcomes = ("passed", "failed", "error")
    reports = [report for outcome in outcomes for report in terminal.stats.get(outcome, [])]
    reported = [
        value
        for report in reports
        if report.when == "call"
        for name, value in report.user_properties
        if name == TRIALS
    ]
    if not target or not reported:
        return
    commit = _commit()
    reported, uncounted = _with_other_runs(reported, _uncounted(reports), commit)
    results = rows((TRIALS, value) for value in reported)
    text = page(
        results, commit=commit, date=os.environ.get(DATE, ""), machine=_machine(), uncounted=sorted(uncounted)
    )
    Path(target).write_text(text)
    terminal.write_sep("-", "reliability")
    terminal.write_line(f"{sum(item.trials for item in results)} trials are reported in {target}")


def _with_other_runs(reported: list[str], uncounted: list[str], commit: str) -> tuple[list[str], list[str]]:
    """The counts of this run and of other runs of the same commit."""
    if not os.environ.get(RECORDS):
        return reported, uncounted
    directory = Path(os.environ[RECORDS])
    directory.mkdir(parents=True, exist_ok=True)
    record = {"trials": reported, "uncounted": uncounted}
    (directory / f"{commit}-{os.getpid()}.json").write_text(json.dumps(record))
    records = [json.loads(path.read_text()) for path in sorted(directory.glob(f"{commit}-*.json"))]
    return (
        [value for item in records for value in item["trials"]],
        [name for item in records for name in item["uncounted"]],
    )


def _uncounted(reports: Sequence[Any]) -> list[str]:
    """Failed tests without a count in files whose tests count."""

    def counts(report: Any) -> bool:
        return any(name == TRIALS for name, _ in report.user_properties)

    files = {report.nodeid.split("::")[0] for report in reports if counts(report)}
    return sorted(
        {
            report.nodeid
            for report in reports
            if report.failed and not counts(report) and report.nodeid.split("::")[0] in files
        }
    )


def _commit() -> str:
    answer = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout.strip() or "unknown"


def _machine() -> str:
    system = f"{platform.system()} {platform.machine()}"
    return f"{system}, {os.cpu_count()} cores, Python {platform.python_version()}"
