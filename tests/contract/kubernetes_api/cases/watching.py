"""Watches: where they start, what they report, how they end."""

from contract.kubernetes_api.objects import CONFIG_MAPS, WIDGETS, config_map, widget
from contract.kubernetes_api.session import PARTIAL, TABLE, Session


def _kind_and_name(event):
    """An event without the object's content."""
    obj = event["object"]
    if obj.get("kind") == "Status":
        return event
    return [
        event["type"],
        obj["metadata"].get("name"),
        obj["metadata"].get("labels"),
        obj.get("data", obj.get("spec")),
    ]


def _version(s: Session, path: str) -> str:
    with s.unrecorded():
        return s.get(path).body["metadata"]["resourceVersion"]


def a_watch_reports_what_happens_after_a_version(s: Session):
    for path, made in ((CONFIG_MAPS, config_map), (WIDGETS, widget)):
        version = _version(s, path)
        with s.watch(f"{path}?resourceVersion={version}") as watching:
            with s.unrecorded():
                s.post(path, made("a"))
                s.merge(f"{path}/a", {"metadata": {"labels": {"x": "1"}}})
                s.delete(f"{path}/a")
                s.post(path, made("end"))
            watching.until_named("end")


def a_watch_replays_what_happened_since_a_version(s: Session):
    version = _version(s, CONFIG_MAPS)
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
        s.merge(f"{CONFIG_MAPS}/a", {"data": {"a": "2"}})
        s.delete(f"{CONFIG_MAPS}/a")
        s.post(CONFIG_MAPS, config_map("end"))
    with s.watch(f"{CONFIG_MAPS}?resourceVersion={version}", select=_kind_and_name) as watching:
        watching.until_named("end")


def a_watch_without_a_version_starts_with_existing_objects(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a"))
        s.post(WIDGETS, widget("b"))
        s.get(WIDGETS)
    for query in ("", "?resourceVersion=0", "?resourceVersion="):
        with s.watch(f"{WIDGETS}{query}", select=_kind_and_name) as watching:
            watching.read(2)


def an_unchanged_write_produces_no_event(s: Session):
    version = _version(s, WIDGETS)
    with s.watch(f"{WIDGETS}?resourceVersion={version}", select=_kind_and_name) as watching:
        with s.unrecorded():
            s.post(WIDGETS, widget("a"))
            s.merge(f"{WIDGETS}/a", {"spec": {"color": "red"}})
            s.post(WIDGETS, widget("end"))
        watching.until_named("end")


def a_label_selector_turns_changes_into_added_and_deleted(s: Session):
    for path, made in ((CONFIG_MAPS, config_map), (WIDGETS, widget)):
        version = _version(s, path)
        with s.watch(f"{path}?resourceVersion={version}&labelSelector=in=yes") as watching:
            with s.unrecorded():
                s.post(path, made("a"))
                s.merge(f"{path}/a", {"metadata": {"labels": {"in": "yes"}}})
                s.merge(f"{path}/a", {"metadata": {"labels": {"more": "1"}}})
                s.merge(f"{path}/a", {"metadata": {"labels": {"in": "no"}}})
                s.delete(f"{path}/a")
                s.post(path, made("end", labels={"in": "yes"}))
            watching.until_named("end")


def a_field_selector_watches_one_name(s: Session):
    version = _version(s, CONFIG_MAPS)
    with s.watch(
        f"{CONFIG_MAPS}?resourceVersion={version}&fieldSelector=metadata.name=end", select=_kind_and_name
    ) as watching:
        with s.unrecorded():
            s.post(CONFIG_MAPS, config_map("a"))
            s.post(CONFIG_MAPS, config_map("end"))
        watching.until_named("end")


def a_selectable_field_turns_changes_into_added_and_deleted(s: Session):
    version = _version(s, WIDGETS)
    with s.watch(
        f"{WIDGETS}?resourceVersion={version}&fieldSelector=spec.color=blue", select=_kind_and_name
    ) as watching:
        with s.unrecorded():
            s.post(WIDGETS, widget("a"))
            s.merge(f"{WIDGETS}/a", {"spec": {"color": "blue"}})
            s.merge(f"{WIDGETS}/a", {"spec": {"color": "green"}})
            s.post(WIDGETS, widget("end", {"color": "blue"}))
        watching.until_named("end")


def watch_on_the_path_of_one_object_is_ignored(s: Session):
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
        s.post(WIDGETS, widget("a"))
    s.get(f"{CONFIG_MAPS}/a?watch=true")
    s.get(f"{WIDGETS}/a?watch=true")


def watch_is_true_unless_it_is_false_or_zero(s: Session):
    for word in ("no", "1", "", "TRUE", "false", "0", "False"):
        s.get(f"{CONFIG_MAPS}?watch={word}&timeoutSeconds=1")


def the_old_watch_path_still_works(s: Session):
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
        s.get(CONFIG_MAPS)
    with s.watch("/api/v1/watch/namespaces/{ns}/configmaps", select=_kind_and_name) as watching:
        watching.read(1)


def send_initial_events_ends_the_initial_list_with_a_bookmark(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a"))
        s.post(WIDGETS, widget("b"))
        s.post(CONFIG_MAPS, config_map("a"))
    for path in (WIDGETS, CONFIG_MAPS):
        query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        with s.watch(f"{path}?{query}") as watching:
            watching.until(lambda event: event["type"] == "BOOKMARK")


def send_initial_events_on_an_empty_list_is_one_bookmark(s: Session):
    query = (
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion="
    )
    with s.watch(f"{WIDGETS}?{query}") as watching:
        watching.until(lambda event: event["type"] == "BOOKMARK")


def send_initial_events_continues_with_changes(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a"))
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with s.watch(
        f"{WIDGETS}?{query}", select=lambda e: [e["type"], e["object"]["metadata"].get("name")]
    ) as watching:
        watching.until(lambda event: event["type"] == "BOOKMARK")
        with s.unrecorded():
            s.post(WIDGETS, widget("end"))
        watching.until_named("end")


def send_initial_events_needs_a_version_match(s: Session):
    s.get(f"{CONFIG_MAPS}?watch=true&sendInitialEvents=true")
    s.get(f"{CONFIG_MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact")
    s.get(f"{WIDGETS}?watch=true&sendInitialEvents=true")


def a_version_match_needs_send_initial_events(s: Session):
    s.get(f"{CONFIG_MAPS}?watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=0")
    s.get(f"{WIDGETS}?watch=true&resourceVersionMatch=Exact&resourceVersion=0")


def without_initial_events_only_later_changes_are_reported(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a"))
        s.get(WIDGETS)
    query = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    with s.watch(f"{WIDGETS}?{query}", select=_kind_and_name) as watching:
        with s.unrecorded():
            s.post(WIDGETS, widget("end"))
        watching.until_named("end")


def a_bookmark_comes_before_the_end_of_a_watch_that_allows_it(s: Session):
    version = _version(s, WIDGETS)
    with s.watch(
        f"{WIDGETS}?resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds=5"
    ) as watching:
        with s.unrecorded():
            s.post(WIDGETS, widget("a"))
        watching.until(lambda event: event["type"] == "BOOKMARK")


def no_bookmark_is_sent_unless_requested(s: Session):
    version = _version(s, WIDGETS)
    with s.watch(f"{WIDGETS}?resourceVersion={version}&timeoutSeconds=3") as watching:
        watching.rest()


def timeout_seconds_ends_the_stream_quietly(s: Session):
    version = _version(s, CONFIG_MAPS)
    with s.watch(f"{CONFIG_MAPS}?resourceVersion={version}&timeoutSeconds=1") as watching:
        watching.rest()


def a_compacted_version_is_an_error_event(s: Session):
    with s.watch(f"{WIDGETS}?resourceVersion=1") as watching:
        watching.rest()


def a_version_that_is_no_number_is_refused(s: Session):
    s.get(f"{CONFIG_MAPS}?watch=true&resourceVersion=abc")
    s.get(f"{WIDGETS}?watch=true&resourceVersion=abc")


def a_future_version_just_waits(s: Session):
    with s.watch(f"{CONFIG_MAPS}?resourceVersion=900000000000&timeoutSeconds=1") as watching:
        watching.rest()


def a_bad_selector_is_refused_before_the_stream(s: Session):
    s.get(f"{CONFIG_MAPS}?watch=true&labelSelector=a in b")
    s.get(f"{WIDGETS}?watch=true&fieldSelector=spec.title=x")


def a_table_watch_has_columns_in_its_first_event_only(s: Session):
    for path, made in ((WIDGETS, widget), (CONFIG_MAPS, config_map)):
        version = _version(s, path)
        with s.watch(f"{path}?resourceVersion={version}", accept=TABLE) as watching:
            with s.unrecorded():
                s.post(path, made("a"))
                s.post(path, made("end"))
                s.delete(f"{path}/a")
            watching.until_named("a", "DELETED")


def a_table_watch_bookmark_is_a_table_too(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a"))
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with s.watch(f"{WIDGETS}?{query}", accept=TABLE) as watching:
        watching.until(lambda event: event["type"] == "BOOKMARK")


def a_metadata_watch_sends_partial_objects(s: Session):
    for path, made in ((WIDGETS, widget), (CONFIG_MAPS, config_map)):
        version = _version(s, path)
        with s.watch(f"{path}?resourceVersion={version}", accept=PARTIAL) as watching:
            with s.unrecorded():
                s.post(path, made("a"))
                s.delete(f"{path}/a")
            watching.until_named("a", "DELETED")


def a_deleted_event_carries_a_new_version(s: Session):
    version = _version(s, WIDGETS)
    with s.watch(f"{WIDGETS}?resourceVersion={version}") as watching:
        s.post(WIDGETS, widget("a", finalizers=["example.com/hold"]))
        s.delete(f"{WIDGETS}/a")
        s.merge(f"{WIDGETS}/a", {"metadata": {"finalizers": None}})
        watching.until_named("a", "DELETED")


def all_namespaces_can_be_watched(s: Session):
    version = _version(s, CONFIG_MAPS)
    with s.watch(
        f"/api/v1/configmaps?resourceVersion={version}&labelSelector=mine={{ns}}", select=_kind_and_name
    ) as watching:
        with s.unrecorded():
            s.post(CONFIG_MAPS, config_map("end", labels={"mine": "{ns}"}))
        watching.until_named("end")


def a_status_write_is_a_modification(s: Session):
    version = _version(s, WIDGETS)
    with s.watch(f"{WIDGETS}?resourceVersion={version}") as watching:
        with s.unrecorded():
            s.post(WIDGETS, widget("a"))
            s.merge(f"{WIDGETS}/a/status", {"status": {"phase": "Ready"}})
        watching.read(2)
