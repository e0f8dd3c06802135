"""Server-side apply: who owns which field, and how two managers conflict."""

from contract.kubernetes_api.objects import (
    CONFIG_MAPS,
    JOBS,
    SERVICES,
    WIDGETS,
    config_map,
    job,
    owner_of,
    widget,
)
from contract.kubernetes_api.session import APPLY, JSON_PATCH, Session


def _widget(**spec):
    return widget("a", spec)


def apply_creates_what_is_missing(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red"))
    s.apply(f"{CONFIG_MAPS}/a", config_map("a"))


def apply_of_the_same_is_no_change(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red", tags=["a"]))
    s.apply(f"{WIDGETS}/a", _widget(color="red", tags=["a"]))


def apply_removes_what_its_manager_no_longer_says(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red", title="t", size=5, labels={"a": "1", "b": "2"}))
    s.apply(f"{WIDGETS}/a", _widget(color="red", labels={"b": "2"}))
    s.apply(f"{CONFIG_MAPS}/a", config_map("a", {"a": "1", "b": "2"}))
    s.apply(f"{CONFIG_MAPS}/a", config_map("a", {"b": "2"}))


def apply_keeps_what_another_manager_says(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red", title="t"), "one")
    s.apply(f"{WIDGETS}/a", _widget(size=7), "two")
    s.apply(f"{WIDGETS}/a", _widget(color="red"), "one")


def two_managers_share_a_field_with_equal_values(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red"), "one")
    s.apply(f"{WIDGETS}/a", _widget(color="red"), "two")
    s.apply(f"{WIDGETS}/a", _widget(), "one")
    s.apply(f"{WIDGETS}/a", _widget(), "two")


def another_value_is_a_conflict(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red", title="t", nested={"one": "1"}), "one")
    s.apply(f"{WIDGETS}/a", _widget(color="blue"), "two")
    s.apply(f"{WIDGETS}/a", _widget(color="blue", title="u", nested={"one": "2"}), "two")
    s.apply(f"{CONFIG_MAPS}/a", config_map("a", {"a": "1"}), "one")
    s.apply(f"{CONFIG_MAPS}/a", config_map("a", {"a": "2"}), "two")


def three_managers_in_conflict_are_all_named(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red"), "one")
    s.apply(f"{WIDGETS}/a", _widget(title="t"), "two")
    s.merge(f"{WIDGETS}/a?fieldManager=three", {"spec": {"size": 9}})
    s.apply(f"{WIDGETS}/a", _widget(color="blue", title="u", size=8), "four")


def force_takes_ownership(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red", title="t"), "one")
    s.apply(f"{WIDGETS}/a", _widget(color="blue"), "two", force=True)
    s.apply(f"{WIDGETS}/a", _widget(title="t"), "one")


def a_conflict_with_an_update_names_its_time_and_version(s: Session):
    s.post(f"{WIDGETS}?fieldManager=creator", _widget(color="red"))
    s.apply(f"{WIDGETS}/a", _widget(color="blue"), "one")
    s.merge(f"{WIDGETS}/a/status?fieldManager=reporter", {"status": {"phase": "x"}})


def an_update_takes_ownership_silently(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red", title="t"), "one")
    s.merge(f"{WIDGETS}/a?fieldManager=two", {"spec": {"color": "blue"}})
    s.apply(f"{WIDGETS}/a", _widget(color="red", title="t"), "one")
    s.apply(f"{WIDGETS}/a", _widget(title="t"), "one")


def an_update_that_sets_the_same_value_owns_nothing(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red", title="t"), "one")
    s.merge(f"{WIDGETS}/a?fieldManager=two", {"spec": {"color": "red"}})


def removing_a_field_by_update_removes_its_owners(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red", title="t", nested={"one": "1"}), "one")
    s.merge(f"{WIDGETS}/a?fieldManager=two", {"spec": {"title": None, "nested": None}})


def a_field_manager_is_required(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red"), None)
    s.apply(f"{CONFIG_MAPS}/a", config_map("a"), None)
    s.patch(f"{CONFIG_MAPS}/a?fieldManager=", config_map("a"), APPLY)


def identity_in_the_body_must_match(s: Session):
    s.apply(f"{WIDGETS}/b", _widget(color="red"))
    s.apply(f"{CONFIG_MAPS}/b", config_map("a"))
    s.apply(f"{CONFIG_MAPS}/a", {**config_map("a"), "kind": "Secret"})
    s.apply(f"{WIDGETS}/a", {"spec": {"color": "red"}})
    s.apply(f"{CONFIG_MAPS}/a", {"data": {"a": "1"}})
    s.apply(f"{WIDGETS}/a", {**_widget(), "metadata": {"name": "a", "namespace": "other"}})
    s.apply(
        f"{WIDGETS}/a",
        {"apiVersion": "conformance.example.com/v1", "kind": "Widget", "spec": {"color": "red"}},
    )


def managed_fields_in_the_body_are_refused(s: Session):
    entry = {
        "manager": "x",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {},
    }
    s.apply(f"{CONFIG_MAPS}/a", config_map("a", managedFields=[entry]))
    s.apply(f"{WIDGETS}/a", widget("a", managedFields=[entry]))


def a_version_in_the_body_is_accepted_when_creating(s: Session):
    s.apply(f"{CONFIG_MAPS}/a", config_map("a", resourceVersion="5"))
    s.apply(f"{WIDGETS}/a", widget("a", resourceVersion="5"))


def a_version_in_the_body_locks_when_updating(s: Session):
    old = s.apply(f"{WIDGETS}/a", _widget(color="red")).body["metadata"]["resourceVersion"]
    s.apply(f"{WIDGETS}/a", _widget(color="blue"))
    s.apply(f"{WIDGETS}/a", widget("a", {"color": "green"}, resourceVersion=old))


def a_uid_in_the_body_never_creates(s: Session):
    uid = "11111111-2222-3333-4444-555555555555"
    s.apply(f"{WIDGETS}/a", widget("a", uid=uid))
    s.apply(f"{CONFIG_MAPS}/a", config_map("a", uid=uid))


def force_that_is_no_boolean_is_accepted(s: Session):
    s.patch(f"{WIDGETS}/a?fieldManager=one&force=maybe", _widget(color="red"), APPLY)


def wrong_types_are_internal_errors(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(size="big"))
    s.apply(f"{WIDGETS}/a?fieldValidation=Ignore", _widget(size="big"))
    s.apply(f"{CONFIG_MAPS}/a", {**config_map("a"), "data": ["x"]})


def unknown_fields_are_internal_errors(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(colour="red"))
    s.apply(f"{WIDGETS}/a?fieldValidation=Ignore", _widget(colour="red"))
    s.apply(f"{CONFIG_MAPS}/a", {**config_map("a"), "dta": {}})
    s.apply(f"{CONFIG_MAPS}/a?fieldValidation=Strict", {**config_map("a"), "dta": {}})


def duplicate_keys_are_internal_errors(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(ports=[{"name": "a"}, {"name": "a"}]))
    s.apply(f"{WIDGETS}/a", _widget(tags=["a", "a"]))


def a_missing_list_key_is_an_internal_error(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(ports=[{"number": 1}]))


def keyed_lists_merge_by_key_in_applied_order(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(ports=[{"name": "b", "number": 2}, {"name": "a", "number": 1}]), "one")
    s.apply(
        f"{WIDGETS}/a",
        _widget(ports=[{"name": "c", "number": 3}, {"name": "a", "protocol": "UDP"}]),
        "two",
        force=True,
    )
    s.apply(f"{WIDGETS}/a", _widget(ports=[{"name": "d", "number": 4}, {"name": "b", "number": 2}]), "one")
    s.apply(f"{WIDGETS}/a", _widget(ports=[{"name": "c", "number": 3}]), "two")


def sets_merge_by_value(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(tags=["b", "a"]), "one")
    s.apply(f"{WIDGETS}/a", _widget(tags=["c", "a"]), "two")
    s.apply(f"{WIDGETS}/a", _widget(tags=["d"]), "one")
    s.apply(f"{WIDGETS}/a", _widget(tags=[]), "two")


def atomic_lists_and_maps_are_owned_whole(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(notes=["a", "b"], limits={"x": "1"}, frozen={"one": "1"}), "one")
    s.apply(f"{WIDGETS}/a", _widget(notes=["c"], limits={"y": "1"}), "two")
    s.apply(f"{WIDGETS}/a", _widget(notes=["c"], limits={"y": "1"}, frozen={"two": "2"}), "two", force=True)
    s.apply(f"{WIDGETS}/a", _widget(), "one")


def empty_containers_are_kept_and_owned(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(labels={}, tags=[], ports=[], nested={}, notes=[]), "one")
    s.apply(f"{WIDGETS}/a", _widget(labels={"a": "1"}, tags=["x"]), "two")
    s.apply(f"{WIDGETS}/a", _widget(), "one")
    s.apply(f"{WIDGETS}/a", _widget(), "two")


def null_in_an_applied_object(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red", title=None, maybe=None))
    s.apply(f"{CONFIG_MAPS}/a", {**config_map("a"), "data": None})


def defaults_are_owned_by_no_one(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(ports=[{"name": "a"}]))
    s.apply(f"{WIDGETS}/a", _widget(ports=[{"name": "a", "protocol": "UDP"}], size=2), "two")


def labels_finalizers_and_owners_are_applied_by_key(s: Session):
    with s.unrecorded():
        owner = owner_of(s.post(CONFIG_MAPS, config_map("one")).body)
        more = owner_of(s.post(CONFIG_MAPS, config_map("two")).body)
    s.apply(
        f"{CONFIG_MAPS}/a",
        config_map("a", labels={"a": "1"}, finalizers=["example.com/x"], ownerReferences=[owner]),
    )
    s.apply(
        f"{CONFIG_MAPS}/a",
        config_map("a", labels={"b": "2"}, finalizers=["example.com/y"], ownerReferences=[more]),
        "two",
    )
    s.apply(f"{CONFIG_MAPS}/a", config_map("a"), "one")


def yaml_is_accepted(s: Session):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: '1'\n"
    s.patch(f"{CONFIG_MAPS}/a?fieldManager=one", text, APPLY)
    s.patch(f"{CONFIG_MAPS}/a?fieldManager=one", "a: [b", APPLY)
    s.patch(f"{CONFIG_MAPS}/a?fieldManager=one", "- a\n- b\n", APPLY)
    s.patch(f"{CONFIG_MAPS}/a?fieldManager=one", "", APPLY)
    s.patch(f"{WIDGETS}/a?fieldManager=one", "just text", APPLY)


def duplicate_yaml_fields_are_refused_when_strict(s: Session):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: '1'\n  a: '2'\n"
    s.patch(f"{CONFIG_MAPS}/a?fieldManager=one&fieldValidation=Strict", text, APPLY)
    s.patch(f"{CONFIG_MAPS}/a?fieldManager=one", text, APPLY)


def apply_is_validated_like_any_write(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="mauve"))
    s.apply(f"{CONFIG_MAPS}/a", config_map("a", {"bad key!": "1"}))


def dry_run_apply_stores_nothing(s: Session):
    s.apply(f"{WIDGETS}/a?dryRun=All", _widget(color="red"))
    s.get(f"{WIDGETS}/a")
    s.apply(f"{WIDGETS}/a", _widget(color="red"))
    s.apply(f"{WIDGETS}/a?dryRun=All", _widget(color="blue"))


def apply_to_status_owns_status_only(s: Session):
    s.apply(f"{WIDGETS}/a", _widget(color="red"))
    status = {"phase": "Ready", "conditions": [{"type": "Ready", "status": "True"}]}
    s.apply(f"{WIDGETS}/a/status", {**_widget(title="ignored"), "status": status}, "reporter")
    s.apply(
        f"{WIDGETS}/a/status",
        {**_widget(), "status": {"conditions": [{"type": "Done", "status": "True"}]}},
        "other",
    )
    s.apply(f"{WIDGETS}/none/status", {**widget("none"), "status": status}, "reporter")


def apply_to_the_object_ignores_status(s: Session):
    s.apply(f"{WIDGETS}/a", {**_widget(color="red"), "status": {"phase": "x"}})
    s.get(f"{WIDGETS}/a")


def built_in_lists_merge_by_their_own_keys(s: Session):
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a"},
        "spec": {"clusterIP": "None", "selector": {"a": "b"}},
    }
    s.apply(f"{SERVICES}/a", {**body, "spec": {**body["spec"], "ports": [{"name": "one", "port": 1}]}}, "one")
    s.apply(
        f"{SERVICES}/a",
        {**body, "spec": {"ports": [{"name": "two", "port": 2}], "selector": {"a": "b"}}},
        "two",
    )
    s.apply(f"{SERVICES}/a", {**body, "spec": {"ports": [{"name": "other", "port": 1}]}}, "two")


def a_job_is_applied_without_owning_its_defaults(s: Session):
    s.apply(f"{JOBS}/a", job("a"))
    s.apply(f"{JOBS}/a", job("a", parallelism=2), "two")


def migrating_from_update_to_apply_rewrites_managers(s: Session):
    s.post(f"{WIDGETS}?fieldManager=kubectl-client-side-apply", _widget(color="red", title="t"))
    s.apply(f"{WIDGETS}/a", _widget(color="red"), "kubectl")
    entries = s.get(f"{WIDGETS}/a").body["metadata"]["managedFields"]
    entry = {**entries[-1], "operation": "Apply", "manager": "kubectl", "time": "2020-01-01T00:00:00Z"}
    s.patch(
        f"{WIDGETS}/a", [{"op": "replace", "path": "/metadata/managedFields", "value": [entry]}], JSON_PATCH
    )
    s.apply(f"{WIDGETS}/a", _widget(color="red"), "kubectl")


def apply_through_another_version_keeps_both_entries(s: Session):
    body = {
        "apiVersion": "conformance.example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": "a"},
        "spec": {"color": "red"},
    }
    s.apply("/apis/conformance.example.com/v1/namespaces/{ns}/gadgets/a", body)
    other = {**body, "apiVersion": "conformance.example.com/v1beta1"}
    s.apply("/apis/conformance.example.com/v1beta1/namespaces/{ns}/gadgets/a", other, "two")
    s.get("/apis/conformance.example.com/v1/namespaces/{ns}/gadgets/a")


def apply_of_a_field_that_the_stored_version_lacks_is_an_internal_error(s: Session):
    body = {
        "apiVersion": "conformance.example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": "a"},
        "spec": {"color": "red"},
    }
    s.apply("/apis/conformance.example.com/v1/namespaces/{ns}/gadgets/a", body)
    other = {
        **body,
        "apiVersion": "conformance.example.com/v1beta1",
        "spec": {"color": "red", "shade": "light"},
    }
    s.apply("/apis/conformance.example.com/v1beta1/namespaces/{ns}/gadgets/a", other, "two")
