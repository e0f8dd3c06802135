"""D4: Events of Jobs and Pods."""

from datetime import UTC, datetime

import pytest

from picokube.nodeagent.lifecycle_events import (
    MAX_REMEMBERED,
    EventDeduplicator,
    containers_backing_off,
    containers_started,
    containers_stopping,
    job_changed,
    pod_created,
    pod_not_created,
)
from picokube.nodeagent.supervisor.protocol import Run, RunKey

NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)
JOB = {"kind": "Job", "metadata": {"name": "work", "namespace": "n"}}
POD = {"kind": "Pod", "metadata": {"name": "work-1", "namespace": "n", "uid": "u"}, "spec": {}}


class Recorded:
    """Takes records as the recorder does."""

    def __init__(self):
        self.rows = []

    def record(self, about, *, type, reason, message):  # noqa: A002
        self.rows.append((about["kind"], type, reason, message))


def _condition(kind, status="True", reason="", message=""):
    return {"type": kind, "status": status, "reason": reason, "message": message}


def test_a_pod_that_is_made_on_its_node_is_scheduled_too():
    """The node agent binds pods of Jobs when it makes them."""
    events = Recorded()
    pod_created(events, JOB, POD)
    pod_created(events, JOB, {**POD, "spec": {"nodeName": "laptop"}})
    created = ("Job", "Normal", "SuccessfulCreate", "Created pod: work-1")
    scheduled = ("Pod", "Normal", "Scheduled", "Successfully assigned n/work-1 to laptop")
    assert events.rows == [created, created, scheduled]


def test_a_pod_that_cannot_be_made_is_a_warning_about_its_job():
    """With the server's own words."""
    events = Recorded()
    pod_not_created(events, JOB, ValueError("quota exceeded"))
    assert events.rows == [("Job", "Warning", "FailedCreate", "Error creating: quota exceeded")]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([], [_condition("Complete")], [("Normal", "Completed", "Job completed")]),
        (
            [],
            [_condition("Failed", reason="BackoffLimitExceeded", message="too often")],
            [("Warning", "BackoffLimitExceeded", "too often")],
        ),
        ([], [_condition("Suspended")], [("Normal", "Suspended", "Job suspended")]),
        (
            [_condition("Suspended")],
            [_condition("Suspended", "False")],
            [("Normal", "Resumed", "Job resumed")],
        ),
        ([_condition("Complete")], [_condition("Complete")], []),
        ([], [_condition("FailureTarget")], []),
        ([], [_condition("Suspended", "False")], []),
    ],
)
def test_a_job_emits_events_for_new_conditions(before, after, expected):
    """Once: a repeated status emits no event."""
    events = Recorded()
    job_changed(events, {**JOB, "status": {"conditions": before}}, {"conditions": after})
    assert [row[1:] for row in events.rows] == expected


def test_containers_start_stop_and_back_off():
    """Passes that see the same stop or the same wait again add nothing; the next start is another."""
    events, once = Recorded(), EventDeduplicator()
    broken = Run(key=RunKey("u", "side", 0), state="ended", reason="StartError", message="no such file")
    containers_started(events, POD, [Run(key=RunKey("u", "main", 0), state="running"), broken])
    for restart in (0, 0, 1):
        containers_stopping(events, once, POD, [("main", restart)])
    for until in (NOON, NOON):
        containers_backing_off(events, once, POD, {"main": until})
    assert events.rows == [
        ("Pod", "Normal", "Started", "Started container main"),
        ("Pod", "Warning", "Failed", "Error: no such file"),
        ("Pod", "Normal", "Killing", "Stopping container main"),
        ("Pod", "Normal", "Killing", "Stopping container main"),
        ("Pod", "Warning", "BackOff", "Back-off restarting failed container main in pod work-1"),
    ]


def test_what_was_reported_is_forgotten_in_the_end():
    """The memory of it is bounded."""
    once = EventDeduplicator()
    assert once.is_new("a")
    assert not once.is_new("a")
    for n in range(MAX_REMEMBERED):
        once.is_new(n)
    assert once.is_new("a")
