"""Label and field selectors in lists."""

from contract.kubernetes_api.objects import (
    CONFIG_MAPS,
    EVENTS,
    JOBS,
    PODS,
    SECRETS,
    WIDGETS,
    config_map,
    widget,
)
from contract.kubernetes_api.session import Session


def _names(body):
    """The matching objects, or the whole error."""
    return (
        [item["metadata"]["name"] for item in body["items"]]
        if isinstance(body, dict) and "items" in body
        else body
    )


def _fruits(s: Session) -> None:
    with s.unrecorded():
        for name, labels in {
            "apple": {"fruit": "apple", "color": "red"},
            "lemon": {"fruit": "lemon", "color": "yellow"},
            "empty": {"fruit": ""},
            "plain": {},
            "five": {"count": "5"},
        }.items():
            s.post(CONFIG_MAPS, config_map(name, labels=labels))
            s.post(WIDGETS, widget(name, {"color": "red", "size": len(labels)}, labels=labels))


def label_operators_select(s: Session):
    _fruits(s)
    for selector in (
        "fruit=apple",
        "fruit==apple",
        "fruit!=apple",
        "fruit",
        "!fruit",
        "fruit in (apple,lemon)",
        "fruit notin (apple,lemon)",
        "fruit in ()",
        "fruit=",
        "fruit!=",
        "count>4",
        "count<5",
        "fruit=apple,color=red",
        "fruit , color in (red, yellow)",
        "",
    ):
        s.get(f"{CONFIG_MAPS}?labelSelector={selector}", select=_names)


def label_operators_select_custom_resources_alike(s: Session):
    _fruits(s)
    for selector in ("fruit=apple", "!fruit", "fruit notin (apple)", "fruit in ()", "count>4"):
        s.get(f"{WIDGETS}?labelSelector={selector}", select=_names)


def bad_label_selectors_are_refused(s: Session):
    for selector in (
        "fruit in apple",
        "fruit in (apple",
        "=apple",
        "fruit=app le",
        "fruit=apple,",
        "bad key!=x",
        "count>x",
        "fruit in (a b)",
        "!",
        "a/b/c=x",
        "fruit=" + "x" * 64,
        "!fruit=apple",
    ):
        s.get(f"{CONFIG_MAPS}?labelSelector={selector}")


def a_bad_label_selector_is_refused_for_custom_resources_too(s: Session):
    s.get(f"{WIDGETS}?labelSelector=fruit in apple")


def name_and_namespace_are_selectable_everywhere(s: Session):
    _fruits(s)
    for path in (CONFIG_MAPS, WIDGETS):
        for selector in (
            "metadata.name=apple",
            "metadata.name==apple",
            "metadata.name!=apple",
            "metadata.namespace={ns}",
        ):
            s.get(f"{path}?fieldSelector={selector}", select=_names)
        s.get(f"{path}?fieldSelector=metadata.name=apple,metadata.namespace={{ns}}", select=_names)
        s.get(f"{path}?fieldSelector=metadata.name=apple&labelSelector=fruit=lemon", select=_names)


def other_fields_are_refused(s: Session):
    s.get(f"{CONFIG_MAPS}?fieldSelector=data.a=1")
    s.get(f"{WIDGETS}?fieldSelector=spec.title=x")
    s.get(f"{CONFIG_MAPS}?fieldSelector=metadata.uid=1")
    s.get(f"{PODS}?fieldSelector=spec.containers=1")


def bad_field_selectors_are_refused(s: Session):
    s.get(f"{CONFIG_MAPS}?fieldSelector=metadata.name")
    s.get(f"{CONFIG_MAPS}?fieldSelector=metadata.name>a")
    s.get(f"{WIDGETS}?fieldSelector=metadata.name in (a)")


def selectable_fields_of_a_crd_select(s: Session):
    _fruits(s)
    with s.unrecorded():
        s.merge(f"{WIDGETS}/apple", {"spec": {"color": "blue"}})
    s.get(f"{WIDGETS}?fieldSelector=spec.color=blue", select=_names)
    s.get(f"{WIDGETS}?fieldSelector=spec.color!=blue", select=_names)
    s.get(f"{WIDGETS}?fieldSelector=spec.size=1", select=_names)
    s.get(f"{WIDGETS}?fieldSelector=spec.color=blue,metadata.name=apple", select=_names)


def pods_are_selectable_by_phase_and_node(s: Session):
    for field in (
        "status.phase=Running",
        "spec.nodeName=",
        "spec.restartPolicy=Never",
        "status.podIP=",
        "spec.serviceAccountName=x",
    ):
        s.get(f"{PODS}?fieldSelector={field}", select=_names)


def events_are_selectable_by_their_involved_object(s: Session):
    for field in (
        "involvedObject.kind=Pod",
        "involvedObject.name=a",
        "involvedObject.uid=u",
        "reason=Started",
        "type=Normal",
        "source=kubelet",
        "reportingComponent=x",
        "message=x",
    ):
        s.get(f"{EVENTS}?fieldSelector={field}", select=_names)
    s.get("/apis/events.k8s.io/v1/namespaces/{ns}/events?fieldSelector=regarding.name=a", select=_names)


def secrets_are_selectable_by_type_and_jobs_by_success(s: Session):
    s.get(f"{SECRETS}?fieldSelector=type=Opaque", select=_names)
    s.get(f"{JOBS}?fieldSelector=status.successful=1", select=_names)
    s.get("/api/v1/namespaces?fieldSelector=status.phase=Nonsense", select=_names)
    s.get("/api/v1/nodes?fieldSelector=spec.unschedulable=true", select=_names)


def a_selector_on_one_object_is_ignored(s: Session):
    _fruits(s)
    s.get(f"{CONFIG_MAPS}/apple?labelSelector=fruit=lemon")
