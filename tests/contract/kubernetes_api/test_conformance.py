"""The embedded API server responds like kube-apiserver, case by case.

Each case runs on the embedded server and is compared with the transcript of a real server. With the binaries of `make
envtest` it runs on the real server again, so that outdated transcripts are noticed.
"""

import re

import pytest

from contract.kubernetes_api.accepted_differences import ACCEPTED, AcceptedDifference
from contract.kubernetes_api.catalogue import TRANSCRIPTS, cases, run
from contract.kubernetes_api.comparison import Difference, differences
from contract.kubernetes_api.quirks import QUIRKS
from support.conformance_summary import EQUAL

pytestmark = pytest.mark.conformance

CASES = list(cases().values())
IDS = list(cases())


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_embedded_server_responds_like_the_real_one(case, embedded_server, record_property):
    """Status, reason, message, body and order of events equal the transcript."""
    played = run(case, embedded_server)
    differing = differences(case.recorded(), played.steps)
    accepted = [difference for difference in ACCEPTED if difference.case == case.name]
    unexplained = [
        difference for difference in differing if not any(_covers(row, difference) for row in accepted)
    ]
    unused = [row for row in accepted if not any(_covers(row, difference) for difference in differing)]
    last_output = embedded_server.last_output(seconds=2 if isinstance(played.stopped_by, OSError) else 0)
    assert last_output is None, f"{case.name}: {last_output}"
    _fail_on(case.name, unexplained)
    assert played.stopped_by is None, f"{case.name} could not continue: {played.stopped_by!r}"
    assert not unused, f"these rows of accepted_differences.py accept nothing any more: {unused}"
    record_property(EQUAL, "embedded")


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_transcript_equals_the_response_of_the_real_server(case, real_server, record_property):
    """Otherwise record it again (`make transcripts`) and review the change."""
    played = run(case, real_server)
    assert played.stopped_by is None, f"{case.name} could not continue: {played.stopped_by!r}"
    differing = differences(case.recorded(), played.steps)
    _fail_on(case.name, differing)
    record_property(EQUAL, "real")


def test_every_case_has_a_transcript_and_every_transcript_a_case():
    """No case and no transcript is skipped silently."""
    stored = {str(path.relative_to(TRANSCRIPTS).with_suffix("")) for path in TRANSCRIPTS.rglob("*.json")}
    assert stored == set(cases())


def test_transcripts_contain_nothing_that_changes_between_runs():
    """No raw uid that the case did not send, no current time, no raw namespace."""
    changing = re.compile(r"(?<![\w-])ns-[a-z0-9]{6}\b|20(?:2[6-9]|30)-\d\d-\d\dT\d\d:\d\d:\d\dZ")
    volatile = {
        path.name: hits[0]
        for path in TRANSCRIPTS.rglob("*.json")
        if (hits := changing.findall(path.read_text()))
    }
    assert volatile == {}


@pytest.mark.parametrize("number", range(1, 26))
def test_every_known_quirk_of_the_real_server_is_covered_by_a_case(number):
    """Every known mistake of hand-written servers has a case."""
    assert QUIRKS[number]
    assert set(QUIRKS[number]) <= set(cases())


def _covers(row: AcceptedDifference, difference: Difference) -> bool:
    is_under = difference.path == row.path or difference.path.startswith((f"{row.path}.", f"{row.path}["))
    return row.step == difference.step and is_under


def _fail_on(name: str, differing: list[Difference]) -> None:
    if not differing:
        return
    shown = "\n".join(str(difference) for difference in differing[:12])
    more = f"\n... and {len(differing) - 12} more places" if len(differing) > 12 else ""
    pytest.fail(f"{name}: {len(differing)} places differ\n{shown}{more}", pytrace=False)
