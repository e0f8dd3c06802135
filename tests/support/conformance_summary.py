"""Test summary: the number of equal conformance cases per server, and what was not run.

Works from test reports only, so that it also counts results of pytest-xdist workers.
"""

from collections import Counter
from typing import Any

from support.envtest import assets, missing_parts

EQUAL = "conformance"
ON = {
    "test_the_embedded_server_answers_like_the_real_one": "embedded",
    "test_a_transcript_is_what_the_real_server_answers": "real",
}


def write_conformance_summary(terminal: Any) -> None:
    reports = [
        (server, report)
        for outcome in ("passed", "failed", "error")
        for report in terminal.stats.get(outcome, [])
        for name, server in ON.items()
        if f"::{name}[" in report.nodeid
    ]
    if not reports:
        return
    played = {server: {report.nodeid for on, report in reports if on == server} for server in ON.values()}
    equal = Counter(
        on
        for on, report in reports
        for key, _ in report.user_properties
        if key == EQUAL and report.when == "call"
    )
    words = [f"{equal[on]} of {len(played[on])} equal on the {on} server" for on in played if played[on]]
    if not played["real"] and (missing := missing_parts()):
        words.append(f"the real server was not tested: no {', '.join(missing)} in {assets()} (make envtest)")
    terminal.write_sep("-", "Kubernetes API conformance")
    terminal.write_line("; ".join(words))
