"""The termination message: what the engine reads, within what a pod can report."""

import json
import random
from datetime import UTC, datetime

import pytest

from jangar.api.reasons import Reason
from jangar.domain.orchestration.outputs import OutputsProblem, read_outputs
from jangar.runner.output import Mask
from jangar.runner.report import (
    MAX_LENGTH,
    MAX_MESSAGE_LENGTH,
    Ending,
    TooLarge,
    outputs_of,
    status_document,
    termination_message,
)
from jangar.runner.result_files import CollectedArtifact
from jangar.runner.spec import OutputArtifact
from jangar.runner.usage import Usage

NOON = datetime(2026, 2, 7, 12, 0, 0, 123000, tzinfo=UTC)
TRIALS = 500


def ending(**fields):
    return Ending(
        **({"provider": "p", "argv": ["sh"], "code": 0, "started_at": NOON, "finished_at": NOON} | fields)
    )


def message(written, *, last_message=None, mask=None, **fields):
    mask = mask or Mask()
    return termination_message(outputs_of(written, len(written), last_message, mask), ending(**fields), mask)


def engine_reads(text):
    """As the engine does: through a pod's status."""
    return read_outputs(text[-MAX_LENGTH:], may_be_cut=True)


@pytest.mark.rule("DAG-11")
def test_outputs_are_the_members_that_the_command_wrote():
    """Numbers as they were written; the runner adds one member of its own."""
    read = engine_reads(message(b'{"pr": "12", "cost": 1.10, "big": 123456789012345678901}\n'))
    own = json.loads(read.pop("runner"))
    assert read == {"pr": "12", "cost": "1.10", "big": "123456789012345678901"}
    assert own == {
        "status": "succeeded",
        "exitCode": 0,
        "startedAt": "2026-02-07T12:00:00.123Z",
        "finishedAt": "2026-02-07T12:00:00.123Z",
    }


@pytest.mark.rule("DAG-11")
@pytest.mark.parametrize(
    ("written", "last_message", "result"),
    [
        (b"plain text\n", None, "plain text"),
        (b"[1, 2]", "ignored", "[1, 2]"),
        (b"", "said at last", "said at last"),
        (b'{"a": ', None, '{"a":'),
        (b"", None, None),
        (b"{}", "ignored", None),
    ],
)
def test_text_is_the_output_result(written, last_message, result):
    """An agent that wrote no result has its last message as one."""
    assert engine_reads(message(written, last_message=last_message)).get("result") == result


@pytest.mark.rule("DAG-11")
@pytest.mark.parametrize("size", [MAX_LENGTH - 8, MAX_LENGTH, MAX_LENGTH + 1, 10 * MAX_LENGTH])
def test_a_result_that_does_not_fit_is_too_large_for_the_engine(size):
    """It never becomes another result."""
    written = b'{"a": "' + b"x" * size + b'"}'
    read = engine_reads(message(written))
    assert isinstance(read, OutputsProblem)
    assert read.reason == Reason.OUTPUTS_TOO_LARGE


def test_outputs_come_before_what_the_runner_has_to_say():
    """With less space the runner reports less, and finally nothing."""
    artifacts = [
        CollectedArtifact(artifact=OutputArtifact(name=f"a{n}", path="p" * 40), size=1, sha256="0" * 64)
        for n in range(50)
    ]
    reported = []
    for size in (10, 3000, 3900, 4080):
        read = engine_reads(
            message(
                b'{"a":"' + b"x" * size + b'"}', artifacts=artifacts, usage=Usage(counts={"inputTokens": 1})
            )
        )
        assert read["a"] == "x" * size
        reported.append(len(json.loads(read.get("runner", "{}"))))
    assert reported == sorted(reported, reverse=True)
    assert reported[-1] == 0


def test_a_command_cannot_speak_as_the_runner():
    """A member of that name in the program's document is never read."""
    for size in (0, 3000, 3950, 4000, 4030):
        forged = json.dumps({"runner": {"status": "forged"}, "a": "x" * size}).encode()
        read = engine_reads(message(forged, code=3))
        assert isinstance(read, OutputsProblem) or json.loads(read["runner"])["exitCode"] == 3


def test_no_end_is_too_long_to_be_reported():
    """500 random ends: never more than a pod reports, always JSON, and no secret in it."""
    canary = 'cán"ary-7f3a'
    mask = Mask([canary])
    for seed in range(TRIALS):
        rng = random.Random(seed)  # noqa: S311

        def text(most, rng=rng):
            return "".join(rng.choice(["x", "é", '"', "\\", "\n", canary]) for _ in range(most))

        fields = {
            "argv": [text(rng.randrange(800)) for _ in range(rng.randrange(1, 6))],
            "error": text(rng.randrange(2000)) or None,
            "provider": text(rng.randrange(600)),
            "code": rng.randrange(256),
            "artifacts": [
                CollectedArtifact(artifact=OutputArtifact(name=text(20), path=text(50)), problem=text(30))
                for _ in range(rng.randrange(50))
            ],
        }
        written = rng.choice(
            [text(500), json.dumps({text(5): text(300)}), json.dumps({"a": text(900)})]
        ).encode()
        reported = message(written, mask=mask, **fields)
        status = status_document(ending(**fields), mask)
        assert len(reported) <= MAX_LENGTH, seed
        assert len(status) <= MAX_MESSAGE_LENGTH, seed
        for item in (reported, status):
            json.loads(item)
            assert "ary-7f3a" not in item.decode(), seed


def test_too_large_says_so_to_people():
    assert "5000 bytes" in outputs_of(b"x" * 10, 5000, None, Mask()).message
    assert isinstance(outputs_of(b"", MAX_LENGTH + 1, None, Mask()), TooLarge)
