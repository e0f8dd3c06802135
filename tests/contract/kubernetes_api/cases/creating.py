"""POST: what is filled in, what is rejected, and with which messages."""

from contract.kubernetes_api.objects import CONFIG_MAPS, WIDGETS, ZONES, config_map, custom, widget
from contract.kubernetes_api.session import JSON, Session


def a_custom_resource_gets_identity_and_defaults(s: Session):
    s.post(WIDGETS, widget("one"))
    s.get(f"{WIDGETS}/one")


def a_built_in_object_gets_identity(s: Session):
    s.post(CONFIG_MAPS, config_map("one"))
    s.get(f"{CONFIG_MAPS}/one")


def a_cluster_scoped_custom_resource_has_no_namespace(s: Session):
    s.post(ZONES, custom("Zone", "{ns}-zone", {"region": "north"}))
    s.get(f"{ZONES}/{{ns}}-zone")


def generate_name_appends_five_characters(s: Session):
    body = config_map("x", generateName="made-")
    del body["metadata"]["name"]
    s.post(CONFIG_MAPS, body)
    body = widget("x", generateName="made-")
    del body["metadata"]["name"]
    s.post(WIDGETS, body)


def generate_name_is_cut_to_58_characters(s: Session):
    body = config_map("x", generateName="p" * 70)
    del body["metadata"]["name"]
    s.post(CONFIG_MAPS, body)


def a_name_wins_over_generate_name(s: Session):
    s.post(CONFIG_MAPS, config_map("given", generateName="made-"))


def generate_name_with_a_taken_name_says_that_no_unique_name_was_found(s: Session):
    s.post(CONFIG_MAPS, config_map("given"))
    s.post(CONFIG_MAPS, config_map("given", generateName="made-"))
    s.post(WIDGETS, widget("given"))
    s.post(WIDGETS, widget("given", generateName="made-"))


def a_taken_name_is_a_conflict(s: Session):
    s.post(CONFIG_MAPS, config_map("one"))
    s.post(CONFIG_MAPS, config_map("one"))
    s.post(WIDGETS, widget("one"))
    s.post(WIDGETS, widget("one"))


def neither_name_nor_generate_name_is_refused(s: Session):
    s.post(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})
    s.post(WIDGETS, {**widget("x"), "metadata": {}})


def names_follow_rfc_1123(s: Session):
    for name in ("Upper", "under_score", "-dash", "dot.", "a" * 254):
        s.post(CONFIG_MAPS, config_map(name))
        s.post(WIDGETS, widget(name))


def a_generated_name_from_a_bad_prefix_is_refused(s: Session):
    for path, body in (
        (CONFIG_MAPS, config_map("x", generateName="Bad_")),
        (WIDGETS, widget("x", generateName="Bad_")),
    ):
        del body["metadata"]["name"]
        s.post(path, body)


def a_namespace_in_the_body_must_match_the_path(s: Session):
    s.post(CONFIG_MAPS, config_map("one", namespace="other"))
    s.post(WIDGETS, widget("one", namespace="other"))


def a_namespace_in_the_body_may_repeat_the_path(s: Session):
    s.post(CONFIG_MAPS, config_map("one", namespace="{ns}"))
    s.post(WIDGETS, widget("one", namespace="{ns}"))


def a_missing_namespace_is_not_found(s: Session):
    s.post("/api/v1/namespaces/{ns}-none/configmaps", config_map("one"))
    s.post("/apis/conformance.example.com/v1/namespaces/{ns}-none/widgets", widget("one"))


def a_namespaced_kind_cannot_be_created_without_a_namespace(s: Session):
    s.post("/api/v1/configmaps", config_map("one"))
    s.post("/apis/conformance.example.com/v1/widgets", widget("one"))


def kind_and_version_are_required_of_custom_resources_only(s: Session):
    for left_out in ("kind", "apiVersion"):
        for path, body in ((CONFIG_MAPS, config_map("one")), (WIDGETS, widget("one"))):
            body.pop(left_out)
            s.post(f"{path}?dryRun=All", body)


def neither_kind_nor_version_is_refused_for_custom_resources_only(s: Session):
    for path, body in ((CONFIG_MAPS, config_map("one")), (WIDGETS, widget("one"))):
        s.post(path, {name: value for name, value in body.items() if name not in ("kind", "apiVersion")})


def another_kind_is_refused(s: Session):
    s.post(CONFIG_MAPS, {**config_map("one"), "kind": "Secret"})
    s.post(CONFIG_MAPS, {**config_map("one"), "kind": "Nonsense"})
    s.post(WIDGETS, {**widget("one"), "kind": "Gauge"})


def another_version_is_refused(s: Session):
    s.post(CONFIG_MAPS, {**config_map("one"), "apiVersion": "v2"})
    s.post(CONFIG_MAPS, {**config_map("one"), "apiVersion": "apps/v1"})
    s.post(WIDGETS, {**widget("one"), "apiVersion": "conformance.example.com/v2"})
    s.post(WIDGETS, {**widget("one"), "apiVersion": "other.example.com/v1"})


def a_resource_version_in_the_body_is_refused(s: Session):
    s.post(CONFIG_MAPS, config_map("one", resourceVersion="5"))
    s.post(WIDGETS, widget("one", resourceVersion="5"))


def server_set_fields_in_the_body_are_ignored(s: Session):
    stamps = {
        "uid": "11111111-2222-3333-4444-555555555555",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "generation": 7,
        "selfLink": "/somewhere",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 5,
    }
    s.post(CONFIG_MAPS, config_map("one", **stamps))
    s.post(WIDGETS, widget("one", **stamps))


def dry_run_answers_and_stores_nothing(s: Session):
    s.post(f"{CONFIG_MAPS}?dryRun=All", config_map("one"))
    s.get(f"{CONFIG_MAPS}/one")
    s.post(f"{WIDGETS}?dryRun=All", widget("one"))
    s.get(f"{WIDGETS}/one")


def dry_run_still_validates(s: Session):
    s.post(f"{CONFIG_MAPS}?dryRun=All", config_map("Bad_Name"))
    s.post(f"{WIDGETS}?dryRun=All", widget("one", {"color": "mauve"}))


def dry_run_accepts_only_all(s: Session):
    s.post(f"{CONFIG_MAPS}?dryRun=true", config_map("one"))
    s.post(f"{CONFIG_MAPS}?dryRun=", config_map("one"))
    s.post(f"{WIDGETS}?dryRun=Some", widget("one"))


def unknown_fields_are_warned_of_by_default(s: Session):
    s.post(CONFIG_MAPS, {**config_map("one"), "dta": {"a": "1"}})
    s.post(WIDGETS, widget("one", {"color": "red", "colour": "red", "nested": {"four": "4"}}))


def strict_field_validation_refuses_unknown_fields(s: Session):
    s.post(f"{CONFIG_MAPS}?fieldValidation=Strict", {**config_map("one"), "dta": {"a": "1"}, "more": 1})
    s.post(
        f"{WIDGETS}?fieldValidation=Strict",
        widget("one", {"color": "red", "colour": "red", "nested": {"four": "4"}}),
    )


def ignored_field_validation_is_silent(s: Session):
    s.post(f"{CONFIG_MAPS}?fieldValidation=Ignore", {**config_map("one"), "dta": {"a": "1"}})
    s.post(f"{WIDGETS}?fieldValidation=Ignore", widget("one", {"color": "red", "colour": "red"}))


def unknown_field_validation_is_refused(s: Session):
    s.post(f"{CONFIG_MAPS}?fieldValidation=Loose", config_map("one"))
    s.post(f"{WIDGETS}?fieldValidation=Loose", widget("one"))


def unknown_fields_in_metadata_are_found_too(s: Session):
    s.post(f"{CONFIG_MAPS}?fieldValidation=Strict", config_map("one", lables={"a": "b"}))
    s.post(f"{WIDGETS}?fieldValidation=Strict", widget("one", lables={"a": "b"}))
    s.post(WIDGETS, widget("one", lables={"a": "b"}))


def duplicate_fields_are_refused_when_strict_and_warned_of_otherwise(s: Session):
    text = (
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"a":"1"},"data":{"a":"2"}}'
    )
    s.post(f"{CONFIG_MAPS}?fieldValidation=Strict", text, media=JSON)
    s.post(CONFIG_MAPS, text, media=JSON)
    text = (
        '{"apiVersion":"conformance.example.com/v1","kind":"Widget","metadata":{"name":"one"},'
        '"spec":{"color":"red","color":"blue"}}'
    )
    s.post(f"{WIDGETS}?fieldValidation=Strict", text, media=JSON)
    s.post(WIDGETS, text, media=JSON)


def the_field_manager_is_the_user_agent_or_the_query(s: Session):
    s.post(CONFIG_MAPS, config_map("one"), headers={"User-Agent": "kubectl/v1.35.4 (linux/amd64)"})
    s.post(f"{CONFIG_MAPS}?fieldManager=tester", config_map("two"))
    s.post(f"{CONFIG_MAPS}?fieldManager={'m' * 129}", config_map("three"))


def labels_and_annotations_are_checked(s: Session):
    s.post(CONFIG_MAPS, config_map("one", labels={"bad key!": "x"}))
    s.post(CONFIG_MAPS, config_map("one", labels={"key": "bad value!"}))
    s.post(CONFIG_MAPS, config_map("one", annotations={"bad key!": "x"}))
    s.post(WIDGETS, widget("one", labels={"key": "x" * 64}))
    s.post(WIDGETS, widget("one", labels={"key": 5}))
    s.post(CONFIG_MAPS, config_map("one", labels={"key": 5}))


def owner_references_are_checked(s: Session):
    whole = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "o",
        "uid": "11111111-2222-3333-4444-555555555555",
    }
    s.post(CONFIG_MAPS, config_map("one", ownerReferences=[{**whole, "uid": ""}]))
    s.post(CONFIG_MAPS, config_map("one", ownerReferences=[{**whole, "apiVersion": "", "name": ""}]))
    s.post(CONFIG_MAPS, config_map("one", ownerReferences=[{**whole, "kind": "Event"}]))
    s.post(
        WIDGETS,
        widget(
            "one", ownerReferences=[{**whole, "controller": True}, {**whole, "name": "p", "controller": True}]
        ),
    )


def finalizers_must_be_qualified_on_built_ins_only(s: Session):
    s.post(CONFIG_MAPS, config_map("one", finalizers=["plain"]))
    s.post(WIDGETS, widget("one", finalizers=["plain"]))
    s.post(WIDGETS, widget("two", finalizers=["example.com/Bad name"]))


def post_to_a_named_path_creates_custom_resources_only(s: Session):
    s.post(f"{WIDGETS}/one", widget("one"))
    s.post(f"{CONFIG_MAPS}/one", config_map("one"))


def the_plural_must_be_known(s: Session):
    s.post("/api/v1/namespaces/{ns}/configmap", config_map("one"))
    s.post("/apis/conformance.example.com/v1/namespaces/{ns}/widget", widget("one"))


def pretty_prints_on_request(s: Session):
    s.post(f"{CONFIG_MAPS}?pretty=true", config_map("one"))
