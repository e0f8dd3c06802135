"""PUT: optimistic locking, identity, generation."""

from contract.kubernetes_api.objects import CONFIG_MAPS, WIDGETS, config_map, widget
from contract.kubernetes_api.session import Session

OTHER_UID = "11111111-2222-3333-4444-555555555555"


def _both(s: Session) -> tuple[dict, dict]:
    with s.unrecorded():
        return s.post(CONFIG_MAPS, config_map("a")).body, s.post(WIDGETS, widget("a")).body


def a_put_replaces_the_object(s: Session):
    kept, made = _both(s)
    s.put(f"{CONFIG_MAPS}/a", {**kept, "data": {"b": "2"}})
    s.put(f"{WIDGETS}/a", {**made, "spec": {"title": "new"}})


def a_put_without_a_change_keeps_the_version(s: Session):
    kept, made = _both(s)
    s.put(f"{CONFIG_MAPS}/a", kept)
    s.put(f"{WIDGETS}/a", made)


def an_old_version_is_a_conflict(s: Session):
    kept, made = _both(s)
    with s.unrecorded():
        s.merge(f"{CONFIG_MAPS}/a", {"data": {"a": "2"}})
        s.merge(f"{WIDGETS}/a", {"spec": {"title": "2"}})
    s.put(f"{CONFIG_MAPS}/a", {**kept, "data": {"a": "3"}})
    s.put(f"{WIDGETS}/a", {**made, "spec": {"title": "3"}})


def a_missing_version_overwrites_built_ins_and_is_refused_for_custom_resources(s: Session):
    _both(s)
    s.put(f"{CONFIG_MAPS}/a", config_map("a", {"a": "2"}))
    s.put(f"{WIDGETS}/a", widget("a", {"title": "2"}))


def version_zero_counts_as_missing(s: Session):
    _both(s)
    s.put(f"{CONFIG_MAPS}/a", config_map("a", {"a": "2"}, resourceVersion="0"))
    s.put(f"{WIDGETS}/a", widget("a", {"title": "2"}, resourceVersion="0"))


def a_version_that_is_no_number_is_an_internal_error(s: Session):
    _both(s)
    s.put(f"{CONFIG_MAPS}/a", config_map("a", {"a": "2"}, resourceVersion="abc"))
    s.put(f"{WIDGETS}/a", widget("a", {"title": "2"}, resourceVersion="abc"))


def another_uid_is_a_conflict(s: Session):
    kept, made = _both(s)
    s.put(f"{CONFIG_MAPS}/a", {**kept, "metadata": {**kept["metadata"], "uid": OTHER_UID}})
    s.put(f"{WIDGETS}/a", {**made, "metadata": {**made["metadata"], "uid": OTHER_UID}})


def the_name_must_match_the_path(s: Session):
    kept, made = _both(s)
    s.put(f"{CONFIG_MAPS}/a", {**kept, "metadata": {**kept["metadata"], "name": "b"}})
    s.put(f"{WIDGETS}/a", {**made, "metadata": {**made["metadata"], "name": "b"}})


def the_name_may_not_be_left_out(s: Session):
    kept, made = _both(s)
    for path, current in ((CONFIG_MAPS, kept), (WIDGETS, made)):
        s.put(
            f"{path}/a", {**current, "metadata": {"resourceVersion": current["metadata"]["resourceVersion"]}}
        )


def the_namespace_must_match_the_path(s: Session):
    kept, made = _both(s)
    s.put(f"{CONFIG_MAPS}/a", {**kept, "metadata": {**kept["metadata"], "namespace": "other"}})
    s.put(f"{WIDGETS}/a", {**made, "metadata": {**made["metadata"], "namespace": "other"}})


def a_missing_object_is_not_created(s: Session):
    s.put(f"{CONFIG_MAPS}/none", config_map("none"))
    s.put(f"{WIDGETS}/none", widget("none"))
    s.put(f"{CONFIG_MAPS}/none", config_map("none", resourceVersion="5"))
    s.put(f"{WIDGETS}/none", widget("none", resourceVersion="5"))


def generation_counts_changes_of_the_spec_only(s: Session):
    _, made = _both(s)
    changed = s.put(f"{WIDGETS}/a", {**made, "spec": {**made["spec"], "title": "x"}}).body
    labeled = s.put(
        f"{WIDGETS}/a", {**changed, "metadata": {**changed["metadata"], "labels": {"a": "b"}}}
    ).body
    s.put(f"{WIDGETS}/a", {**labeled, "metadata": {**labeled["metadata"], "generation": 99}})


def server_set_fields_cannot_be_changed(s: Session):
    kept, made = _both(s)
    stamps = {"creationTimestamp": "2001-01-01T00:00:00Z", "generation": 7, "selfLink": "/x"}
    s.put(f"{CONFIG_MAPS}/a", {**kept, "metadata": {**kept["metadata"], **stamps}})
    s.put(f"{WIDGETS}/a", {**made, "metadata": {**made["metadata"], **stamps}})


def a_deletion_time_cannot_be_set_by_hand(s: Session):
    kept, made = _both(s)
    stamps = {"deletionTimestamp": "2001-01-01T00:00:00Z"}
    s.put(f"{CONFIG_MAPS}/a", {**kept, "metadata": {**kept["metadata"], **stamps}})
    s.put(f"{WIDGETS}/a", {**made, "metadata": {**made["metadata"], **stamps}})


def dry_run_shows_the_new_generation_under_the_old_version(s: Session):
    kept, made = _both(s)
    s.put(f"{CONFIG_MAPS}/a?dryRun=All", {**kept, "data": {"a": "2"}})
    s.put(f"{WIDGETS}/a?dryRun=All", {**made, "spec": {"title": "x"}})
    s.get(f"{CONFIG_MAPS}/a")
    s.get(f"{WIDGETS}/a")


def defaults_come_back_when_left_out(s: Session):
    _, made = _both(s)
    s.put(f"{WIDGETS}/a", {**made, "spec": {"color": "blue"}})


def a_put_is_validated(s: Session):
    kept, made = _both(s)
    s.put(f"{CONFIG_MAPS}/a", {**kept, "data": {"bad key!": "1"}})
    s.put(f"{WIDGETS}/a", {**made, "spec": {"color": "mauve", "size": 101}})


def strict_put_refuses_unknown_fields(s: Session):
    kept, made = _both(s)
    s.put(f"{CONFIG_MAPS}/a?fieldValidation=Strict", {**kept, "dta": {}})
    s.put(f"{WIDGETS}/a?fieldValidation=Strict", {**made, "spec": {"colour": "red"}})


def managed_fields_can_be_cleared_by_an_empty_entry(s: Session):
    kept, made = _both(s)
    s.put(f"{CONFIG_MAPS}/a", {**kept, "metadata": {**kept["metadata"], "managedFields": [{}]}})
    s.put(f"{WIDGETS}/a", {**made, "metadata": {**made["metadata"], "managedFields": []}})


def put_to_a_collection_is_not_allowed(s: Session):
    s.put(CONFIG_MAPS, config_map("a"))
    s.put(WIDGETS, widget("a"))
