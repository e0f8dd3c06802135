"""Events: deduplicated with a count, bounded, and never blocking the caller."""

import asyncio
from copy import deepcopy

import pytest

from kubekit.client.errors import AlreadyExists, Ambiguous, Forbidden, NotFound, ServerFailure
from kubekit.events.event_recorder import EventLimits, EventRecorder, ObjectReference
from support.virtual_time import run_virtual, wall_clock

RUN = ObjectReference(
    api_version="orchestration.proompteng.ai/v1alpha1",
    kind="OrchestrationRun",
    namespace="agents",
    name="nightly",
    uid="uid-1",
)


class Events:
    """The Events as a server keeps them, and what it answers first."""

    def __init__(self, *failures, latency=0.01):
        self.kept = {}
        self.failures = list(failures)
        self.latency = latency
        self.requests = 0

    async def create(self, resource, obj):
        name = obj["metadata"]["name"]

        def act():
            if name in self.kept:
                raise AlreadyExists("taken", status=409)
            self.kept[name] = deepcopy(obj)
            self.kept[name]["metadata"]["uid"] = f"event-{len(self.kept)}"
            return deepcopy(self.kept[name])

        return await self._answer(act)

    async def get(self, resource, name, namespace):
        return await self._answer(lambda: deepcopy(self._found(name)))

    async def patch(self, resource, name, namespace, body, *, kind):
        def act():
            event = self._found(name)
            assert body["metadata"] == {"uid": event["metadata"]["uid"]}
            event.update({key: value for key, value in body.items() if key != "metadata"})
            return deepcopy(event)

        return await self._answer(act)

    def _found(self, name):
        if name not in self.kept:
            raise NotFound(name, status=404)
        return self.kept[name]

    async def _answer(self, act):
        self.requests += 1
        await asyncio.sleep(self.latency)
        failure = self.failures.pop(0) if self.failures else None
        if isinstance(failure, Ambiguous):
            act()
        if failure is not None:
            raise failure
        return act()

    @property
    def reported(self):
        return [(event["reason"], event["count"]) for event in self.kept.values()]


def reported(events, story, **limits):
    """Run the story with a recorder, stop it, and give back the recorder."""

    async def main():
        recorder = EventRecorder(
            events,
            component="jangar-controllers",
            instance="pod-1",
            now=wall_clock(),
            random=lambda: 1.0,
            limits=EventLimits(**limits),
        )
        running = asyncio.create_task(recorder.run())
        await asyncio.sleep(0)
        await story(recorder)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert recorder.pending == 0
        return recorder

    return run_virtual(main())


def started(recorder, about=RUN, *, reason="StepStarted", message="step build started"):
    recorder.record(about, type="Normal", reason=reason, message=message, action="StartStep")


def test_an_event_has_the_shape_that_kubectl_shows():
    """core/v1, with the times, the count and the source that `describe` and `get events` print."""
    events = Events()

    async def story(recorder):
        started(recorder)
        await asyncio.sleep(1)

    reported(events, story)
    (event,) = events.kept.values()
    name = event["metadata"].pop("name")
    assert name.startswith("nightly.")
    assert len(name) == len("nightly.") + 16
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "agents", "uid": "event-1"},
        "involvedObject": {
            "apiVersion": "orchestration.proompteng.ai/v1alpha1",
            "kind": "OrchestrationRun",
            "namespace": "agents",
            "name": "nightly",
            "uid": "uid-1",
        },
        "type": "Normal",
        "reason": "StepStarted",
        "message": "step build started",
        "action": "StartStep",
        "count": 1,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "source": {"component": "jangar-controllers"},
        "reportingComponent": "jangar-controllers",
        "reportingInstance": "pod-1",
    }


def test_a_whole_object_may_be_named_instead_of_a_reference():
    """An object as the API gave it, and one without a namespace: its Events are in `default`."""
    events = Events()
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "uid": "u", "resourceVersion": "7"},
    }

    async def story(recorder):
        started(recorder, node)
        await asyncio.sleep(1)

    reported(events, story)
    (event,) = events.kept.values()
    assert event["metadata"]["namespace"] == "default"
    assert event["involvedObject"]["resourceVersion"] == "7"


def test_the_same_again_is_counted_in_one_event():
    """Also while the first is still on its way: one object, a count, the first and the last time."""
    events = Events()

    async def story(recorder):
        for _ in range(5):
            started(recorder)
        await asyncio.sleep(0.005)
        started(recorder)
        await asyncio.sleep(60)
        started(recorder)
        started(recorder, reason="StepFinished")
        await asyncio.sleep(1)

    recorder = reported(events, story)
    assert events.reported == [("StepStarted", 7), ("StepFinished", 1)]
    first = next(iter(events.kept.values()))
    assert (first["firstTimestamp"], first["lastTimestamp"]) == (
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:01:00Z",
    )
    assert recorder.dropped == 0
    assert events.requests == 4


def test_an_expired_event_is_created_again_with_its_count():
    """The server forgets Events after an hour."""
    events = Events()

    async def story(recorder):
        started(recorder)
        await asyncio.sleep(3700)
        events.kept.clear()
        started(recorder)
        await asyncio.sleep(1)

    reported(events, story)
    assert events.reported == [("StepStarted", 2)]


def test_an_object_that_talks_too_much_is_cut_short_and_others_are_not():
    """25 at once, then one each five minutes; what is left out is counted."""
    events = Events()
    other = ObjectReference(api_version="v1", kind="Pod", namespace="agents", name="other", uid="uid-2")

    async def story(recorder):
        for number in range(40):
            started(recorder, message=f"message {number}")
        started(recorder, other)
        await asyncio.sleep(600)
        for number in range(40, 50):
            started(recorder, message=f"message {number}")
        await asyncio.sleep(1)

    recorder = reported(events, story, similar=100)
    assert len(events.kept) == 25 + 1 + 2
    assert recorder.dropped == 15 + 8


def test_normal_events_of_all_objects_are_bounded_and_warnings_are_not():
    """D4: of a thousand short pods some get normal events; each failure gets its warning."""
    events = Events()

    def pod(number):
        return ObjectReference(
            api_version="v1", kind="Pod", namespace="n", name=f"p{number}", uid=f"u{number}"
        )

    async def story(recorder):
        for number in range(100):
            started(recorder, pod(number))
        recorder.record(pod(99), type="Warning", reason="BackOff", message="again")
        await asyncio.sleep(2)
        for number in range(100, 130):
            started(recorder, pod(number))
        await asyncio.sleep(1)

    recorder = reported(events, story, normal_burst=20, normal_per_second=5.0)
    reasons = [event["reason"] for event in events.kept.values()]
    assert (reasons.count("StepStarted"), reasons.count("BackOff")) == (20 + 10, 1)
    assert recorder.dropped == 80 + 20


@pytest.mark.rule("RUN-5")
def test_similar_events_about_one_object_are_combined():
    """Twenty of one reason stand alone; the rest are one Event that counts them and shows the latest."""
    events = Events()

    async def story(recorder):
        for number in range(1000):
            started(recorder, message=f"step {number}: Running")
            await asyncio.sleep(0.01)
        await asyncio.sleep(5)

    recorder = reported(events, story, similar=20, burst=25)
    *alone, combined = events.kept.values()
    assert [event["message"] for event in alone] == [f"step {number}: Running" for number in range(20)]
    assert combined["message"] == "(combined from similar events): step 999: Running"
    assert (combined["count"], recorder.dropped) == (980, 0)
    assert events.requests <= 20 + 15


def test_what_differs_in_its_reason_is_not_combined():
    """A failure among a thousand successes keeps its own Event."""
    events = Events()

    async def story(recorder):
        for number in range(30):
            started(recorder, message=f"step {number}: Running")
        started(recorder, reason="NonZeroExit", message="step 7: Failed")
        await asyncio.sleep(5)

    reported(events, story, similar=10)
    assert [event["message"] for event in events.kept.values() if event["reason"] == "NonZeroExit"] == [
        "step 7: Failed"
    ]


def test_recording_never_waits_and_a_full_queue_drops():
    """A server that does not answer costs Events, not passes."""
    events = Events(latency=1000)

    async def story(recorder):
        for number in range(30):
            about = ObjectReference(api_version="v1", kind="Pod", name=f"pod-{number}", uid=f"uid-{number}")
            started(recorder, about)
        assert recorder.dropped == 20

    recorder = reported(events, story, capacity=10)
    assert recorder.dropped == 30
    assert events.kept == {}


def test_failures_of_the_server_are_tried_again():
    """Transient ones only, with a bound; the count continues meanwhile."""
    events = Events(ServerFailure("down", status=503), ServerFailure("down", status=503))

    async def story(recorder):
        started(recorder)
        await asyncio.sleep(0.05)
        started(recorder)
        await asyncio.sleep(10)

    recorder = reported(events, story)
    assert events.reported == [("StepStarted", 2)]
    assert recorder.dropped == 0


def test_a_refusal_is_dropped_and_reported_in_the_log(caplog):
    """In a namespace that is going away nothing can be created; the recorder lives on."""
    events = Events(Forbidden("the namespace is being terminated", status=403))

    async def story(recorder):
        started(recorder)
        await asyncio.sleep(1)
        started(recorder)
        await asyncio.sleep(1)

    recorder = reported(events, story)
    assert recorder.dropped == 1
    assert events.reported == [("StepStarted", 1)]
    assert "namespace is being terminated" in caplog.records[0].error


def test_a_server_that_stays_away_costs_the_event():
    """Tries have a bound."""
    events = Events(*[ServerFailure("down", status=503)] * 100)

    async def story(recorder):
        started(recorder)
        await asyncio.sleep(3600)

    recorder = reported(events, story, tries=3)
    assert (recorder.dropped, events.requests) == (1, 4)


def test_an_event_whose_answer_was_lost_is_not_reported_twice():
    """The event keeps its name, is found again, and its count continues."""
    events = Events(Ambiguous("reset"))

    async def story(recorder):
        started(recorder)
        await asyncio.sleep(0.05)
        started(recorder)
        await asyncio.sleep(10)

    reported(events, story)
    assert events.reported == [("StepStarted", 2)]


def test_the_end_writes_what_is_left_within_a_bound():
    """An event recorded just before the end is still written."""
    events = Events()

    async def story(recorder):
        for number in range(5):
            started(recorder, message=f"message {number}")

    assert reported(events, story).dropped == 0
    assert len(events.kept) == 5


@pytest.mark.parametrize("length", [1024, 5000])
def test_long_texts_are_shortened_to_what_the_server_accepts(length):
    """1024 bytes of message, 253 characters of name."""
    events = Events()
    about = ObjectReference(api_version="v1", kind="Pod", namespace="agents", name="p" * 253, uid="u")

    async def story(recorder):
        started(recorder, about, message="ü" * (length // 2))
        await asyncio.sleep(1)

    reported(events, story)
    ((name, event),) = events.kept.items()
    assert len(name) <= 253
    assert len(event["message"].encode()) <= 1024
    assert event["message"].endswith("..." if length > 1024 else "ü")
