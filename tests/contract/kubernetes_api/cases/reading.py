"""GET of one object and of lists: pages, versions, errors."""

import base64
import json

from contract.kubernetes_api.objects import CONFIG_MAPS, CUSTOM, WIDGETS, config_map, widget
from contract.kubernetes_api.session import Session

FUTURE = "900000000000"


def _three(s: Session) -> None:
    with s.unrecorded():
        for name in ("a", "b", "c"):
            s.post(CONFIG_MAPS, config_map(name))
            s.post(WIDGETS, widget(name))


def a_missing_object_is_not_found(s: Session):
    s.get(f"{CONFIG_MAPS}/none")
    s.get(f"{WIDGETS}/none")
    s.get("/api/v1/namespaces/{ns}-none/configmaps/none")
    s.get("/api/v1/namespaces/{ns}-none")


def a_list_of_built_ins_has_no_types_in_its_items(s: Session):
    _three(s)
    s.get(CONFIG_MAPS)


def a_list_of_custom_resources_has_typed_items_and_an_empty_continue(s: Session):
    _three(s)
    s.get(WIDGETS)


def an_empty_list_has_items(s: Session):
    s.get(CONFIG_MAPS)
    s.get(WIDGETS)
    s.get("/api/v1/namespaces/{ns}-none/configmaps")


def limit_and_continue_page_through_built_ins(s: Session):
    _three(s)
    page = s.get(f"{CONFIG_MAPS}?limit=2").body
    s.get(f"{CONFIG_MAPS}?limit=2&continue={page['metadata']['continue']}")


def limit_and_continue_page_through_custom_resources(s: Session):
    _three(s)
    page = s.get(f"{WIDGETS}?limit=2").body
    s.get(f"{WIDGETS}?limit=2&continue={page['metadata']['continue']}")


def pages_show_the_state_of_the_first_one(s: Session):
    _three(s)
    page = s.get(f"{CONFIG_MAPS}?limit=1").body
    with s.unrecorded():
        s.delete(f"{CONFIG_MAPS}/b")
        s.post(CONFIG_MAPS, config_map("d"))
    s.get(f"{CONFIG_MAPS}?limit=5&continue={page['metadata']['continue']}")


def a_limit_of_zero_or_less_is_no_limit(s: Session):
    _three(s)
    s.get(f"{CONFIG_MAPS}?limit=0")
    s.get(f"{CONFIG_MAPS}?limit=-1")
    s.get(f"{WIDGETS}?limit=-1")


def a_limit_that_is_no_number_is_refused(s: Session):
    s.get(f"{CONFIG_MAPS}?limit=many")
    s.get(f"{WIDGETS}?limit=many")


def a_limit_with_a_selector_counts_no_remaining_items(s: Session):
    with s.unrecorded():
        for name in ("a", "b", "c"):
            s.post(CONFIG_MAPS, config_map(name, labels={"in": "yes"}))
    s.get(f"{CONFIG_MAPS}?limit=1&labelSelector=in=yes")


def a_bad_continue_token_is_refused(s: Session):
    s.get(f"{CONFIG_MAPS}?continue=nonsense")
    s.get(f"{CONFIG_MAPS}?continue=eyJ2IjoidjEifQ")
    s.get(f"{WIDGETS}?continue=nonsense")


def continue_with_a_resource_version_is_refused(s: Session):
    _three(s)
    page = s.get(f"{CONFIG_MAPS}?limit=1").body
    version = page["metadata"]["resourceVersion"]
    s.get(f"{CONFIG_MAPS}?limit=1&continue={page['metadata']['continue']}&resourceVersion={version}")
    s.get(
        f"{CONFIG_MAPS}?limit=1&continue={page['metadata']['continue']}&resourceVersion={version}"
        "&resourceVersionMatch=NotOlderThan"
    )


def an_expired_continue_token_is_gone(s: Session):
    start = json.dumps({"v": "meta.k8s.io/v1", "rv": 1, "start": "a\0"}).encode()
    token = base64.urlsafe_b64encode(start).decode().rstrip("=")
    _three(s)
    s.get(f"{WIDGETS}?limit=1&continue={token}")


def an_exact_version_shows_the_past(s: Session):
    with s.unrecorded():
        then = s.post(CONFIG_MAPS, config_map("a")).body["metadata"]["resourceVersion"]
        version = s.post(WIDGETS, widget("a")).body["metadata"]["resourceVersion"]
        s.merge(f"{CONFIG_MAPS}/a", {"data": {"a": "2"}})
        s.post(CONFIG_MAPS, config_map("b"))
        s.merge(f"{WIDGETS}/a", {"spec": {"color": "blue"}})
    s.get(f"{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=Exact")
    s.get(f"{CONFIG_MAPS}?resourceVersion={then}&limit=5")
    s.get(f"{WIDGETS}?resourceVersion={version}&resourceVersionMatch=Exact")


def not_older_than_returns_the_current_state(s: Session):
    with s.unrecorded():
        then = s.post(CONFIG_MAPS, config_map("a")).body["metadata"]["resourceVersion"]
        s.post(CONFIG_MAPS, config_map("b"))
        s.get(CONFIG_MAPS)
    s.get(f"{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=NotOlderThan")
    s.get(f"{CONFIG_MAPS}?resourceVersion={then}")
    s.get(f"{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=NotOlderThan&limit=1")


def version_zero_is_any_state(s: Session):
    _three(s)
    with s.unrecorded():
        s.get(CONFIG_MAPS)
    s.get(f"{CONFIG_MAPS}?resourceVersion=0")
    s.get(f"{CONFIG_MAPS}?resourceVersion=0&resourceVersionMatch=NotOlderThan")
    s.get(f"{CONFIG_MAPS}/a?resourceVersion=0")


def version_zero_with_a_limit_ignores_the_limit(s: Session):
    _three(s)
    with s.unrecorded():
        s.get(CONFIG_MAPS)
        s.get(WIDGETS)
    s.get(f"{CONFIG_MAPS}?resourceVersion=0&limit=1")
    s.get(f"{WIDGETS}?resourceVersion=0&limit=1")


def version_match_needs_a_version(s: Session):
    s.get(f"{CONFIG_MAPS}?resourceVersionMatch=Exact")
    s.get(f"{CONFIG_MAPS}?resourceVersionMatch=NotOlderThan")
    s.get(f"{CONFIG_MAPS}?resourceVersionMatch=Exact&resourceVersion=0")
    s.get(f"{CONFIG_MAPS}?resourceVersionMatch=Near&resourceVersion=5")
    s.get(f"{WIDGETS}?resourceVersionMatch=Exact")


def a_version_that_is_no_number_is_refused_unevenly(s: Session):
    _three(s)
    s.get(f"{CONFIG_MAPS}?resourceVersion=abc")
    s.get(f"{CONFIG_MAPS}/a?resourceVersion=abc")
    s.get(f"{WIDGETS}?resourceVersion=abc")
    s.get(f"{WIDGETS}/a?resourceVersion=abc")


def a_future_version_times_out(s: Session):
    s.get(f"{CONFIG_MAPS}?resourceVersion={FUTURE}")


def a_future_version_of_one_object_times_out(s: Session):
    _three(s)
    s.get(f"{CONFIG_MAPS}/a?resourceVersion={FUTURE}")


def a_future_exact_version_times_out(s: Session):
    s.get(f"{CONFIG_MAPS}?resourceVersion={FUTURE}&resourceVersionMatch=Exact")


def a_compacted_exact_version_is_gone(s: Session):
    s.get(f"{WIDGETS}?resourceVersion=1&resourceVersionMatch=Exact")


def all_namespaces_are_listed_by_the_short_path(s: Session):
    _three(s)
    s.get("/api/v1/configmaps?fieldSelector=metadata.namespace={ns}")
    s.get("/apis/conformance.example.com/v1/widgets?fieldSelector=metadata.namespace={ns}")


def several_versions_of_a_kind_show_one_object(s: Session):
    with s.unrecorded():
        s.post(f"{CUSTOM}/gadgets", {**widget("a", {"color": "red", "size": 3}), "kind": "Gadget"})
    s.get(f"{CUSTOM}/gadgets/a")
    s.get("/apis/conformance.example.com/v1beta1/namespaces/{ns}/gadgets/a")
    s.get("/apis/conformance.example.com/v1beta1/namespaces/{ns}/gadgets")
    s.get("/apis/conformance.example.com/v1alpha1/namespaces/{ns}/gadgets/a")


def send_initial_events_is_for_watches_only(s: Session):
    s.get(f"{CONFIG_MAPS}?sendInitialEvents=true")
    s.get(f"{WIDGETS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan")


def unknown_query_parameters_are_ignored(s: Session):
    _three(s)
    s.get(f"{CONFIG_MAPS}/a?colour=red")
    s.get(f"{CONFIG_MAPS}?limit=1&colour=red")
