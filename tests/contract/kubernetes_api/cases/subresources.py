"""status and scale: which fields they change."""

from contract.kubernetes_api.objects import (
    CONFIG_MAPS,
    GAUGES,
    JOBS,
    PODS,
    WIDGETS,
    config_map,
    gauge,
    job,
    pod,
    widget,
)
from contract.kubernetes_api.session import JSON_PATCH, STRATEGIC, Session


def _made(s: Session, **spec) -> dict:
    with s.unrecorded():
        return s.post(WIDGETS, widget("a", {"color": "red", **spec})).body


def status_is_dropped_when_creating(s: Session):
    s.post(WIDGETS, {**widget("a"), "status": {"phase": "Ready"}})
    s.post(JOBS, {**job("a"), "status": {"succeeded": 5}})


def status_is_kept_by_an_update_of_the_object(s: Session):
    _made(s)
    with s.unrecorded():
        s.merge(f"{WIDGETS}/a/status", {"status": {"phase": "Ready"}})
        current = s.get(f"{WIDGETS}/a").body
    s.put(f"{WIDGETS}/a", {**current, "spec": {"color": "blue"}, "status": {"phase": "Other"}})
    s.merge(f"{WIDGETS}/a", {"status": {"phase": "Third"}})


def an_update_of_status_changes_nothing_else(s: Session):
    made = _made(s)
    changed = {**made, "spec": {"color": "blue"}, "status": {"phase": "Ready"}}
    s.put(
        f"{WIDGETS}/a/status",
        {**changed, "metadata": {**made["metadata"], "labels": {"a": "b"}, "finalizers": ["example.com/x"]}},
    )
    s.get(f"{WIDGETS}/a")


def a_status_write_keeps_the_generation(s: Session):
    _made(s)
    s.merge(f"{WIDGETS}/a/status", {"status": {"phase": "Ready"}})
    s.merge(f"{WIDGETS}/a/status", {"status": {"phase": "Ready"}})


def a_status_write_may_carry_annotations(s: Session):
    _made(s)
    s.merge(
        f"{WIDGETS}/a/status",
        {"metadata": {"annotations": {"a": "b"}, "labels": {"c": "d"}}, "status": {"phase": "x"}},
    )


def status_can_be_read_alone(s: Session):
    _made(s)
    s.get(f"{WIDGETS}/a/status")


def status_patches_of_every_type(s: Session):
    _made(s)
    s.patch(f"{WIDGETS}/a/status", [{"op": "add", "path": "/status", "value": {"phase": "x"}}], JSON_PATCH)
    s.patch(f"{WIDGETS}/a/status", {"status": {"phase": "y"}}, STRATEGIC)


def status_is_validated(s: Session):
    _made(s)
    s.merge(f"{WIDGETS}/a/status", {"status": {"replicas": "many"}})
    s.merge(f"{WIDGETS}/a/status", {"status": {"conditions": [{"type": "Ready"}]}})
    s.merge(f"{WIDGETS}/a/status", {"status": {"unknown": 1}})


def an_old_version_conflicts_in_status_too(s: Session):
    made = _made(s)
    s.put(f"{WIDGETS}/a/status", {**made, "status": {"phase": "x"}}, select=lambda body: body.get("status"))
    s.put(f"{WIDGETS}/a/status", {**made, "status": {"phase": "y"}})


def status_of_a_missing_object_is_not_found(s: Session):
    s.merge(f"{WIDGETS}/none/status", {"status": {"phase": "x"}})
    s.get(f"{WIDGETS}/none/status")


def a_kind_without_a_status_subresource_has_none(s: Session):
    with s.unrecorded():
        s.post(GAUGES, gauge("a"))
        s.post(CONFIG_MAPS, config_map("a"))
    s.get(f"{GAUGES}/a/status")
    s.get(f"{CONFIG_MAPS}/a/status")
    s.merge(f"{GAUGES}/a/status", {"status": {}})


def status_can_be_neither_created_nor_deleted(s: Session):
    _made(s)
    s.delete(f"{WIDGETS}/a/status")
    s.post(f"{WIDGETS}/a/status", widget("a"))


def a_removed_status_stays_removed(s: Session):
    made = _made(s)
    with s.unrecorded():
        s.merge(f"{WIDGETS}/a/status", {"status": {"phase": "x"}})
    s.merge(f"{WIDGETS}/a/status", {"status": None})
    s.merge(f"{WIDGETS}/a/status", {"status": {}})
    assert made


def job_status_is_separate_and_checked(s: Session):
    with s.unrecorded():
        s.post(JOBS, job("a"))
    s.merge(f"{JOBS}/a/status", {"status": {"active": 1, "startTime": "2024-01-01T00:00:00Z"}})
    s.merge(f"{JOBS}/a/status", {"status": {"active": -1}})
    s.merge(f"{JOBS}/a/status", {"status": {"conditions": [{"type": "Complete", "status": "True"}]}})


def the_status_of_a_finished_job_is_checked(s: Session):
    with s.unrecorded():
        s.post(JOBS, job("a"))
        s.merge(f"{JOBS}/a/status", {"status": {"startTime": "2024-01-01T00:00:00Z"}})
    done = {
        "completionTime": "2024-01-01T00:01:00Z",
        "succeeded": 1,
        "conditions": [
            {"type": "SuccessCriteriaMet", "status": "True", "reason": "CompletionsReached"},
            {"type": "Complete", "status": "True", "reason": "CompletionsReached"},
        ],
    }
    s.merge(f"{JOBS}/a/status", {"status": done})
    s.merge(f"{JOBS}/a/status", {"status": {"completionTime": "2024-01-01T00:02:00Z"}})
    s.merge(f"{JOBS}/a/status", {"status": {"conditions": []}})


def pod_status_is_separate(s: Session):
    s.eventually(
        "/api/v1/namespaces/{ns}/serviceaccounts/default", lambda answer: answer.is_success, record=False
    )
    with s.unrecorded():
        s.post(PODS, pod("a"))
    s.merge(f"{PODS}/a", {"status": {"phase": "Running"}}, select=lambda body: body.get("status"))
    state = {"name": "main", "image": "busybox", "imageID": "", "ready": False, "restartCount": 0}
    ended = {
        **state,
        "state": {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": "2024-01-01T00:00:01Z"}},
    }
    s.merge(f"{PODS}/a/status", {"status": {"phase": "Failed", "containerStatuses": [ended]}})
    s.merge(f"{PODS}/a/status", {"spec": {"nodeName": "x"}, "status": {"podIP": "10.1.2.3"}})


def scale_shows_and_sets_replicas(s: Session):
    _made(s, replicas=2)
    with s.unrecorded():
        s.merge(f"{WIDGETS}/a/status", {"status": {"replicas": 1, "selector": "a=b"}})
    current = s.get(f"{WIDGETS}/a/scale").body
    s.put(f"{WIDGETS}/a/scale", {**current, "spec": {"replicas": 5}})
    s.get(f"{WIDGETS}/a")
    s.merge(f"{WIDGETS}/a/scale", {"spec": {"replicas": 6}})


def scale_without_replicas_is_an_internal_error(s: Session):
    _made(s)
    s.get(f"{WIDGETS}/a/scale")
    s.get(f"{WIDGETS}/none/scale")


def scale_is_validated(s: Session):
    _made(s, replicas=2)
    s.merge(f"{WIDGETS}/a/scale", {"spec": {"replicas": -1}})
    s.merge(f"{WIDGETS}/a/scale", {"spec": {"replicas": "many"}})


def a_fraction_of_zero_is_whole(s: Session):
    s.post(
        WIDGETS,
        '{"apiVersion":"conformance.example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":4.0,"price":4.0}}',
    )
    s.post(
        WIDGETS,
        '{"apiVersion":"conformance.example.com/v1","kind":"Widget","metadata":{"name":"b"},"spec":{"replicas":2.0}}',
    )
    s.get(f"{WIDGETS}/a")
    s.get(f"{WIDGETS}/b/scale")
    s.post(
        WIDGETS,
        '{"apiVersion":"conformance.example.com/v1","kind":"Widget","metadata":{"name":"c"},"spec":{"size":4.5}}',
    )


def an_unknown_subresource_is_not_found(s: Session):
    _made(s)
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
    s.get(f"{WIDGETS}/a/nonsense")
    s.get(f"{CONFIG_MAPS}/a/nonsense")
