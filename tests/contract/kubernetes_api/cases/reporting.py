"""Events of both groups and Leases: the objects that controllers write most."""

from contract.kubernetes_api.objects import EVENTS, LEASES, lease
from contract.kubernetes_api.session import Session

NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/{ns}/events"


def _event(name="a", **fields):
    about = {"kind": "Pod", "namespace": "{ns}", "name": "p", "uid": "u", "apiVersion": "v1"}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name},
        "involvedObject": about,
        **fields,
    }


def _new_event(name="a", **fields):
    about = {"kind": "Pod", "namespace": "{ns}", "name": "p", "apiVersion": "v1"}
    reported = {
        "eventTime": "2024-01-01T00:00:00.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "c-1",
        "action": "Test",
        "reason": "Tested",
        "type": "Normal",
        "note": "it works",
        "regarding": about,
    }
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name},
        **reported,
        **fields,
    }


def a_core_event_keeps_null_times(s: Session):
    s.post(
        EVENTS,
        _event(reason="Tested", message="it works", type="Normal", count=1, source={"component": "test"}),
    )
    s.get(f"{NEW_EVENTS}/a")


def a_core_event_accepts_any_type(s: Session):
    s.post(EVENTS, _event("a", type="Whatever"))
    s.post(EVENTS, _event("b"))


def a_core_event_lives_in_the_namespace_of_its_object(s: Session):
    s.post(EVENTS, {**_event(), "involvedObject": {"kind": "Pod", "namespace": "other", "name": "p"}})
    s.post(EVENTS, {**_event(), "involvedObject": {"kind": "Node", "name": "n"}})


def core_events_can_be_counted_up(s: Session):
    with s.unrecorded():
        s.post(
            EVENTS,
            _event(count=1, firstTimestamp="2024-01-01T00:00:00Z", lastTimestamp="2024-01-01T00:00:00Z"),
        )
    s.merge(f"{EVENTS}/a", {"count": 2, "lastTimestamp": "2024-01-01T00:01:00Z"})
    s.merge(f"{EVENTS}/a", {"involvedObject": {"name": "q"}})


def a_new_event_is_shown_in_the_old_group_too(s: Session):
    s.post(NEW_EVENTS, _new_event())
    s.get(f"{EVENTS}/a")


def a_new_event_is_checked(s: Session):
    for change in (
        {"eventTime": None},
        {"reportingController": ""},
        {"reportingController": "not qualified!"},
        {"reportingInstance": ""},
        {"action": ""},
        {"reason": ""},
        {"type": "Whatever"},
        {"note": "x" * 1025},
    ):
        s.post(NEW_EVENTS, _new_event(**change))


def micro_times_have_six_decimals(s: Session):
    for n, time in enumerate(
        (
            "2024-01-01T00:00:00Z",
            "2024-01-01T00:00:00.123Z",
            "2024-01-01T00:00:00.123456Z",
            "2024-01-01T00:00:00.1234567Z",
            "soon",
        )
    ):
        s.post(LEASES, lease(f"a{n}", holderIdentity="me", renewTime=time))


def a_new_event_needs_six_decimals_too(s: Session):
    s.post(NEW_EVENTS, _new_event(eventTime="2024-01-01T00:00:00Z"))


def a_lease_holds_what_it_is_given(s: Session):
    s.post(
        LEASES,
        lease(
            "a",
            holderIdentity="me",
            leaseDurationSeconds=15,
            acquireTime="2024-01-01T00:00:00.000000Z",
            renewTime="2024-01-01T00:00:00.000000Z",
            leaseTransitions=0,
        ),
    )
    s.post(LEASES, lease("b"))
    s.post(LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "c"}})


def a_lease_is_checked(s: Session):
    s.post(LEASES, lease("a", leaseDurationSeconds=0))
    s.post(LEASES, lease("a", leaseTransitions=-1))
    s.post(f"{LEASES}?dryRun=All", lease("a", holderIdentity=""))
    s.post(f"{LEASES}?dryRun=All", lease("a", strategy="Oldest"))


def a_lease_is_taken_by_the_first_writer(s: Session):
    with s.unrecorded():
        made = s.post(LEASES, lease("a", holderIdentity="me")).body
    s.put(f"{LEASES}/a", {**made, "spec": {"holderIdentity": "you"}})
    s.put(f"{LEASES}/a", {**made, "spec": {"holderIdentity": "third"}})
