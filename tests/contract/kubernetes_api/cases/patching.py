"""PATCH by merge, by JSON patch and by strategic merge."""

from contract.kubernetes_api.objects import (
    CONFIG_MAPS,
    PODS,
    SERVICES,
    WIDGETS,
    config_map,
    owner_of,
    pod,
    widget,
)
from contract.kubernetes_api.session import JSON, JSON_PATCH, MERGE, STRATEGIC, Session


def _both(s: Session) -> None:
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a", {"a": "1", "b": "2"}))
        s.post(
            WIDGETS,
            widget(
                "a", {"color": "red", "title": "t", "tags": ["x", "y"], "nested": {"one": "1", "two": "2"}}
            ),
        )


def merge_sets_and_null_removes(s: Session):
    _both(s)
    s.merge(f"{CONFIG_MAPS}/a", {"data": {"a": None, "c": "3"}})
    s.merge(f"{WIDGETS}/a", {"spec": {"title": None, "tags": ["z"], "nested": {"one": None}}})


def merge_without_a_change_keeps_version_and_generation(s: Session):
    _both(s)
    s.merge(f"{CONFIG_MAPS}/a", {"data": {"a": "1"}})
    s.merge(f"{WIDGETS}/a", {"spec": {"color": "red"}})
    s.merge(f"{WIDGETS}/a", {})


def merge_with_a_version_locks(s: Session):
    with s.unrecorded():
        old = s.post(CONFIG_MAPS, config_map("a")).body["metadata"]["resourceVersion"]
        s.merge(f"{CONFIG_MAPS}/a", {"data": {"a": "2"}})
        earlier = s.post(WIDGETS, widget("a")).body["metadata"]["resourceVersion"]
        s.merge(f"{WIDGETS}/a", {"spec": {"title": "2"}})
    s.merge(f"{CONFIG_MAPS}/a", {"metadata": {"resourceVersion": old}, "data": {"a": "3"}})
    s.merge(f"{WIDGETS}/a", {"metadata": {"resourceVersion": earlier}, "spec": {"title": "3"}})


def merge_with_a_bad_version_is_refused(s: Session):
    _both(s)
    s.merge(f"{CONFIG_MAPS}/a", {"metadata": {"resourceVersion": "abc"}, "data": {"a": "3"}})
    s.merge(f"{WIDGETS}/a", {"metadata": {"resourceVersion": "abc"}, "spec": {"title": "3"}})


def merge_cannot_change_identity(s: Session):
    _both(s)
    for path in (CONFIG_MAPS, WIDGETS):
        s.merge(f"{path}/a", {"metadata": {"name": "b"}})
        s.merge(f"{path}/a", {"metadata": {"uid": "11111111-2222-3333-4444-555555555555"}})
        s.merge(f"{path}/a", {"metadata": {"namespace": "other"}})
        s.merge(f"{path}/a", {"kind": "Secret"})
        s.merge(f"{path}/a", {"apiVersion": "v9"})


def merge_is_not_a_list(s: Session):
    _both(s)
    s.merge(f"{CONFIG_MAPS}/a", [{"a": 1}])
    s.merge(f"{WIDGETS}/a", [{"a": 1}])
    s.patch(f"{WIDGETS}/a", "{bad json", MERGE)
    s.patch(f"{CONFIG_MAPS}/a", "{bad json", MERGE)


def merge_of_a_missing_object_is_not_found(s: Session):
    s.merge(f"{CONFIG_MAPS}/none", {"data": {}})
    s.merge(f"{WIDGETS}/none", {"spec": {}})


def merge_is_validated(s: Session):
    _both(s)
    s.merge(f"{CONFIG_MAPS}/a", {"data": {"bad key!": "1"}})
    s.merge(f"{CONFIG_MAPS}/a", {"data": {"a": 5}})
    s.merge(f"{WIDGETS}/a", {"spec": {"color": "mauve"}})
    s.merge(f"{WIDGETS}/a", {"spec": {"size": "big"}})


def merge_with_unknown_fields_warns(s: Session):
    _both(s)
    s.merge(f"{CONFIG_MAPS}/a", {"dta": {"a": "1"}})
    s.merge(f"{WIDGETS}/a", {"spec": {"colour": "red"}})


def strict_merge_refuses_unknown_fields(s: Session):
    _both(s)
    s.merge(f"{CONFIG_MAPS}/a?fieldValidation=Strict", {"dta": {"a": "1"}})
    s.merge(f"{WIDGETS}/a?fieldValidation=Strict", {"spec": {"colour": "red"}})


def json_patch_operations(s: Session):
    _both(s)
    s.patch(
        f"{WIDGETS}/a",
        [
            {"op": "test", "path": "/spec/title", "value": "t"},
            {"op": "replace", "path": "/spec/title", "value": "u"},
            {"op": "add", "path": "/spec/tags/0", "value": "first"},
            {"op": "add", "path": "/spec/tags/-", "value": "last"},
            {"op": "copy", "from": "/spec/title", "path": "/spec/nested/one"},
            {"op": "move", "from": "/spec/nested/two", "path": "/spec/nested/deep"},
            {"op": "remove", "path": "/spec/nested/deep"},
        ],
        JSON_PATCH,
    )
    s.patch(f"{CONFIG_MAPS}/a", [{"op": "add", "path": "/data/c~1d", "value": "x"}], JSON_PATCH)
    s.patch(
        f"{CONFIG_MAPS}/a", [{"op": "add", "path": "/metadata/labels", "value": {"a~b": "1"}}], JSON_PATCH
    )


def failing_json_patches_are_unprocessable(s: Session):
    _both(s)
    for operations in (
        [{"op": "test", "path": "/data/a", "value": "9"}],
        [{"op": "remove", "path": "/data/none"}],
        [{"op": "replace", "path": "/data/none", "value": "1"}],
        [{"op": "add", "path": "/none/deep", "value": "1"}],
        [{"op": "dance", "path": "/data/a", "value": "1"}],
        [{"op": "move", "from": "/data/none", "path": "/data/x"}],
        [{"path": "/data/a", "value": "1"}],
    ):
        s.patch(f"{CONFIG_MAPS}/a", operations, JSON_PATCH)
    s.patch(f"{WIDGETS}/a", [{"op": "test", "path": "/spec/color", "value": "blue"}], JSON_PATCH)
    s.patch(f"{WIDGETS}/a", [{"op": "add", "path": "/spec/tags/9", "value": "blue"}], JSON_PATCH)


def a_json_patch_that_is_no_list_is_a_bad_request(s: Session):
    _both(s)
    s.patch(f"{CONFIG_MAPS}/a", {"op": "remove", "path": "/data/a"}, JSON_PATCH)
    s.patch(f"{WIDGETS}/a", {"op": "remove", "path": "/data/a"}, JSON_PATCH)
    s.patch(f"{WIDGETS}/a", "[bad", JSON_PATCH)


def an_empty_json_patch_changes_nothing(s: Session):
    _both(s)
    s.patch(f"{CONFIG_MAPS}/a", [], JSON_PATCH)
    s.patch(f"{WIDGETS}/a", [], JSON_PATCH)


def json_patch_can_rewrite_managed_fields(s: Session):
    _both(s)
    s.patch(f"{WIDGETS}/a", [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}], JSON_PATCH)
    entry = {
        "manager": "mine",
        "operation": "Apply",
        "apiVersion": "conformance.example.com/v1",
        "time": "2020-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:color": {}}},
    }
    s.patch(f"{WIDGETS}/a", [{"op": "add", "path": "/metadata/managedFields", "value": [entry]}], JSON_PATCH)


def bad_managed_fields_are_refused(s: Session):
    _both(s)
    for entry in (
        {"manager": "m", "operation": "Wave", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}},
        {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "Other", "fieldsV1": {}},
        {
            "manager": "m",
            "operation": "Apply",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"x": {}},
        },
    ):
        s.merge(f"{CONFIG_MAPS}/a", {"metadata": {"managedFields": [entry]}})


def strategic_merge_joins_lists_by_their_keys(s: Session):
    with s.unrecorded():
        s.post(
            SERVICES,
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "a"},
                "spec": {
                    "clusterIP": "None",
                    "ports": [{"name": "one", "port": 1}, {"name": "two", "port": 2}],
                },
            },
        )
    s.patch(
        f"{SERVICES}/a",
        {"spec": {"ports": [{"port": 2, "name": "second"}, {"port": 3, "name": "three"}]}},
        STRATEGIC,
    )
    s.patch(f"{SERVICES}/a", {"spec": {"ports": [{"port": 1, "$patch": "delete"}]}}, STRATEGIC)
    s.patch(
        f"{SERVICES}/a", {"spec": {"ports": [{"port": 9, "name": "only"}, {"$patch": "replace"}]}}, STRATEGIC
    )


def strategic_merge_knows_directives(s: Session):
    with s.unrecorded():
        s.post(
            CONFIG_MAPS, config_map("a", {"a": "1", "b": "2"}, finalizers=["example.com/a", "example.com/b"])
        )
    s.patch(f"{CONFIG_MAPS}/a", {"data": {"$patch": "replace", "c": "3"}}, STRATEGIC)
    s.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": ["example.com/c"]}}, STRATEGIC)
    s.patch(
        f"{CONFIG_MAPS}/a",
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}},
        STRATEGIC,
    )
    order = {
        "$setElementOrder/finalizers": ["example.com/c", "example.com/b"],
        "finalizers": ["example.com/c"],
    }
    s.patch(f"{CONFIG_MAPS}/a", {"metadata": order}, STRATEGIC)
    s.patch(f"{CONFIG_MAPS}/a", {"data": {"c": None, "d": "4"}}, STRATEGIC)
    s.patch(f"{CONFIG_MAPS}/a", {"data": {"$retainKeys": ["e"], "e": "5"}}, STRATEGIC)
    s.patch(f"{CONFIG_MAPS}/a", {"data": {"$patch": "dance"}}, STRATEGIC)
    s.patch(f"{CONFIG_MAPS}/a", {"data": {"$patch": "delete"}}, STRATEGIC)


def strategic_merge_joins_containers_conditions_and_owners(s: Session):
    s.eventually("/api/v1/namespaces/{ns}/serviceaccounts/default", lambda a: a.is_success, record=False)
    with s.unrecorded():
        one = owner_of(s.post(CONFIG_MAPS, config_map("one")).body)
        two = owner_of(s.post(CONFIG_MAPS, config_map("two")).body)
        s.post(PODS, pod("a", ownerReferences=[one]))
    s.patch(f"{PODS}/a", {"spec": {"containers": [{"name": "main", "image": "busybox:2"}]}}, STRATEGIC)
    s.patch(f"{PODS}/a", {"metadata": {"ownerReferences": [two]}}, STRATEGIC)
    s.patch(
        f"{PODS}/a", {"metadata": {"ownerReferences": [{"uid": one["uid"], "$patch": "delete"}]}}, STRATEGIC
    )
    s.patch(f"{PODS}/a/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, STRATEGIC)
    s.patch(
        f"{PODS}/a/status",
        {"status": {"conditions": [{"type": "Other", "status": "False"}], "phase": "Running"}},
        STRATEGIC,
    )


def strategic_merge_is_for_built_ins_only(s: Session):
    _both(s)
    s.patch(f"{WIDGETS}/a", {"spec": {"title": "x"}}, STRATEGIC)


def strategic_merge_of_a_wrong_type_is_refused(s: Session):
    _both(s)
    s.patch(f"{CONFIG_MAPS}/a", {"data": ["x"]}, STRATEGIC)
    s.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": {"a": "b"}}}, STRATEGIC)
    s.patch(f"{CONFIG_MAPS}/a", [], STRATEGIC)
    s.patch(f"{CONFIG_MAPS}/a", {"unknown": "x"}, STRATEGIC)


def other_patch_types_are_unsupported(s: Session):
    _both(s)
    s.patch(f"{CONFIG_MAPS}/a", {"data": {}}, JSON)
    s.patch(f"{WIDGETS}/a", {"spec": {}}, JSON)
    s.patch(f"{WIDGETS}/a", {"spec": {}}, "text/plain")
    s.patch(f"{CONFIG_MAPS}/a", "{}", media=None)  # type: ignore[arg-type]


def patch_options_are_checked(s: Session):
    _both(s)
    s.merge(f"{CONFIG_MAPS}/a?force=true", {"data": {}})
    s.merge(f"{CONFIG_MAPS}/a?dryRun=Some", {"data": {}})
    s.merge(f"{WIDGETS}/a?fieldManager=bad\x07name", {"spec": {}})


def dry_run_patch_stores_nothing(s: Session):
    _both(s)
    s.merge(f"{WIDGETS}/a?dryRun=All", {"spec": {"title": "dry"}})
    s.get(f"{WIDGETS}/a")


def json_patch_removing_required_identity_is_refused(s: Session):
    _both(s)
    for path in ("/metadata/name", "/kind", "/metadata"):
        s.patch(f"{CONFIG_MAPS}/a", [{"op": "remove", "path": path}], JSON_PATCH)
        s.patch(f"{WIDGETS}/a", [{"op": "remove", "path": path}], JSON_PATCH)
