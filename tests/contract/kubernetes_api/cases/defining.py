"""CustomResourceDefinitions: validation, conditions, and the effect on their objects."""

from contract.kubernetes_api.objects import CUSTOM, GADGETS, ZONES, custom
from contract.kubernetes_api.session import Session
from contract.kubernetes_api.standard_kinds import CRDS, TEXT, WHOLE, a_crd, a_list, a_map, an_object

GROUP = "{ns}.example.com"
PARTS = "/apis/{ns}.example.com/v1/namespaces/{ns}/parts"
NAME = "parts.{ns}.example.com"


def _crd(spec=None, **how):
    return a_crd("parts", "Part", {"spec": spec or an_object(a=TEXT)}, group=GROUP, **how)


def _part(name="a", spec=None, **more):
    return {
        "apiVersion": "{ns}.example.com/v1",
        "kind": "Part",
        "metadata": {"name": name},
        "spec": spec or {},
        **more,
    }


def _refused(s: Session, spec) -> None:
    s.post(f"{CRDS}?dryRun=All", _crd(spec), select=_accepted)


def _accepted(body):
    """An error, or that there was none."""
    return body if body["kind"] == "Status" else "accepted"


def a_crd_is_completed_when_it_is_created(s: Session):
    body = _crd()
    del body["spec"]["names"]["listKind"], body["spec"]["names"]["singular"]
    s.post(
        CRDS,
        body,
        select=lambda made: {**made, "status": {name: made["status"][name] for name in ("storedVersions",)}},
    )


def a_crd_is_established_with_two_conditions(s: Session):
    with s.unrecorded():
        s.post(CRDS, _crd())
    s.eventually(
        f"{CRDS}/{NAME}",
        lambda a: [c["status"] for c in a.body["status"].get("conditions") or []] == ["True", "True"],
    )


def the_name_of_a_crd_is_plural_dot_group(s: Session):
    body = _crd()
    body["metadata"]["name"] = "wrong.{ns}.example.com"
    s.post(f"{CRDS}?dryRun=All", body, select=_accepted)


def names_of_a_crd_are_checked(s: Session):
    for change in (
        {"plural": "Parts"},
        {"kind": "bad kind"},
        {"shortNames": ["Bad Name"]},
        {"kind": ""},
        {"singular": "A B"},
    ):
        body = _crd()
        body["spec"]["names"].update(change)
        s.post(f"{CRDS}?dryRun=All", body, select=_accepted)


def a_group_needs_a_dot(s: Session):
    s.post(
        f"{CRDS}?dryRun=All",
        a_crd("parts", "Part", {"spec": an_object(a=TEXT)}, group="{ns}"),
        select=_accepted,
    )
    s.post(
        f"{CRDS}?dryRun=All",
        a_crd("parts", "Part", {"spec": an_object(a=TEXT)}, group="Bad_Group.example.com"),
        select=_accepted,
    )


def protected_groups_need_approval(s: Session):
    s.post(
        f"{CRDS}?dryRun=All",
        a_crd("parts", "Part", {"spec": an_object(a=TEXT)}, group="{ns}.k8s.io"),
        select=_accepted,
    )


def a_crd_has_exactly_one_storage_version(s: Session):
    body = _crd()
    body["spec"]["versions"][0]["storage"] = False
    s.post(f"{CRDS}?dryRun=All", body, select=_accepted)
    body = _crd()
    body["spec"]["versions"].append({**body["spec"]["versions"][0], "name": "v2"})
    s.post(f"{CRDS}?dryRun=All", body, select=_accepted)
    body = _crd()
    body["spec"]["versions"] = []
    s.post(f"{CRDS}?dryRun=All", body, select=_accepted)
    body = _crd()
    body["spec"]["versions"].append({**body["spec"]["versions"][0], "storage": False})
    s.post(f"{CRDS}?dryRun=All", body, select=_accepted)


def a_version_needs_a_schema(s: Session):
    body = _crd()
    del body["spec"]["versions"][0]["schema"]
    s.post(f"{CRDS}?dryRun=All", body, select=_accepted)
    body = _crd()
    body["spec"]["versions"][0]["name"] = "V One"
    s.post(f"{CRDS}?dryRun=All", body, select=_accepted)


def the_scope_is_required(s: Session):
    for scope in ("", "Everywhere"):
        s.post(f"{CRDS}?dryRun=All", _crd(scope=scope), select=_accepted)


def a_schema_must_be_structural(s: Session):
    _refused(s, {"properties": {"a": TEXT}})
    _refused(s, an_object(a={}))
    _refused(s, an_object(a={"type": "thing"}))
    _refused(s, an_object(a={"type": "array"}))
    _refused(s, an_object(a={"anyOf": [{"type": "string"}, {"type": "integer"}]}))
    _refused(s, an_object(a={**TEXT, "anyOf": [{"type": "string", "minLength": 2}]}))
    _refused(s, {"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT})


def a_schema_may_not_use_some_words(s: Session):
    _refused(s, an_object(a={"$ref": "#/definitions/x"}))
    _refused(s, an_object(a={**TEXT, "deprecated": True}))
    _refused(s, an_object(a=a_list(TEXT, uniqueItems=True)))
    _refused(s, {"type": "object", "additionalProperties": False})
    _refused(s, {"type": "object", "patternProperties": {"a": TEXT}})
    _refused(s, an_object(a={**TEXT, "nullable": True, "not": {"nullable": True}}))


def the_root_is_an_object_and_metadata_is_left_alone(s: Session):
    body = _crd()
    body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["type"] = "array"
    s.post(f"{CRDS}?dryRun=All", body, select=_accepted)
    body = _crd()
    body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["metadata"] = an_object(
        labels={"type": "object"}
    )
    s.post(f"{CRDS}?dryRun=All", body, select=_accepted)


def list_types_are_checked(s: Session):
    entry = an_object(name=TEXT, value=TEXT)
    _refused(s, an_object(a=a_list(entry, **{"x-kubernetes-list-type": "map"})))
    _refused(
        s,
        an_object(
            a=a_list(entry, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]})
        ),
    )
    _refused(
        s,
        an_object(
            a=a_list(
                {**entry, "required": ["name"]},
                **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["none"]},
            )
        ),
    )
    _refused(s, an_object(a=a_list(TEXT, **{"x-kubernetes-list-type": "heap"})))
    _refused(s, an_object(a={**TEXT, "x-kubernetes-list-type": "set"}))
    _refused(s, an_object(a=a_list(an_object(b=TEXT), **{"x-kubernetes-list-type": "set"})))
    _refused(s, an_object(a={**a_map(TEXT), "x-kubernetes-map-type": "loose"}))


def defaults_must_fit_their_schema(s: Session):
    _refused(s, an_object(a={**WHOLE, "default": "five"}))
    _refused(s, an_object(a={**TEXT, "enum": ["x"], "default": "y"}))
    _refused(s, an_object(a={**an_object(b=TEXT), "default": {"c": "pruned"}}))
    _refused(s, an_object(a={**TEXT, "default": None}))


def patterns_must_compile_and_bounds_are_not_looked_at(s: Session):
    _refused(s, an_object(a={**TEXT, "pattern": "("}))
    _refused(s, an_object(a={**TEXT, "minLength": -1}))
    _refused(s, an_object(a={**WHOLE, "multipleOf": 0}))
    _refused(s, an_object(a={**TEXT, "required": ["b", "b"]}))
    _refused(s, an_object(a={**TEXT, "enum": []}))


def printer_columns_and_selectable_fields_are_checked(s: Session):
    for column in (
        {"name": "A", "type": "thing", "jsonPath": ".spec.a"},
        {"name": "A", "type": "string", "jsonPath": "spec.a"},
        {"name": "", "type": "string", "jsonPath": ".spec.a"},
        {"name": "A", "type": "string", "jsonPath": ".spec.a[", "format": "odd"},
    ):
        s.post(f"{CRDS}?dryRun=All", _crd(version={"additionalPrinterColumns": [column]}), select=_accepted)
    for path in (".spec.none", "spec.a", ".spec", ".metadata.name"):
        s.post(
            f"{CRDS}?dryRun=All", _crd(version={"selectableFields": [{"jsonPath": path}]}), select=_accepted
        )


def subresources_are_checked(s: Session):
    for scale in (
        {"specReplicasPath": ".spec.a", "statusReplicasPath": ".spec.b"},
        {"specReplicasPath": "spec.a", "statusReplicasPath": ".status.b"},
        {"statusReplicasPath": ".status.b"},
    ):
        s.post(f"{CRDS}?dryRun=All", _crd(version={"subresources": {"scale": scale}}), select=_accepted)


def rules_must_compile_to_a_boolean(s: Session):
    for rule in (
        {"rule": "self.none > 1"},
        {"rule": "self.a + "},
        {"rule": "'text'"},
        {"rule": ""},
        {"rule": "self.a == 'x'", "message": " "},
        {"rule": "self.a == 'x'", "messageExpression": "5"},
        {"rule": "self.a == 'x'", "reason": "Whatever"},
        {"rule": "self.a == 'x'", "fieldPath": ".none"},
        {"rule": "self.a == 'x'", "optionalOldSelf": True},
        {"rule": "self.a == 1"},
    ):
        _refused(s, {**an_object(a=TEXT), "x-kubernetes-validations": [rule]})


def rules_that_could_cost_too_much_are_refused(s: Session):
    nested = a_list(
        a_list(TEXT),
        **{"x-kubernetes-validations": [{"rule": "self.all(x, x.all(y, self.all(z, z.all(w, w != y))))"}]},
    )
    _refused(s, an_object(a=nested))


def conversion_by_webhook_needs_one(s: Session):
    body = _crd()
    body["spec"]["conversion"] = {"strategy": "Webhook"}
    s.post(f"{CRDS}?dryRun=All", body, select=_accepted)
    body["spec"]["conversion"] = {"strategy": "Magic"}
    s.post(f"{CRDS}?dryRun=All", body, select=_accepted)


def unknown_fields_of_objects_are_pruned(s: Session):
    s.install(
        _crd(
            an_object(
                a=TEXT,
                open={
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"known": an_object(x=TEXT)},
                },
            )
        )
    )
    s.post(
        PARTS,
        _part(
            spec={"a": "1", "b": "2", "open": {"free": {"deep": 1}, "known": {"x": "1", "y": "2"}}},
            extra={"top": 1},
        ),
    )
    s.get(f"{PARTS}/a")


def defaults_are_filled_in_deeply(s: Session):
    inner = an_object(one={**TEXT, "default": "1"}, two=TEXT)
    s.install(
        _crd(
            an_object(
                plain={**WHOLE, "default": 5},
                absent=inner,
                present={**inner, "default": {}},
                items=a_list(inner),
                named=a_map(inner),
                maybe={**TEXT, "nullable": True, "default": "x"},
                list=a_list(TEXT, default=["a"]),
            )
        )
    )
    s.post(PARTS, _part("a"))
    s.post(
        PARTS,
        _part(
            "b", {"absent": {}, "items": [{}, {"one": "2"}], "named": {"k": {}}, "maybe": None, "plain": None}
        ),
    )
    s.post(PARTS, _part("c", {"list": [], "present": {"two": "2"}, "absent": None}))


def null_is_dropped_unless_nullable(s: Session):
    s.install(_crd(an_object(a=TEXT, b={**TEXT, "nullable": True}, c=a_list(TEXT), d=an_object(e=TEXT))))
    s.post(PARTS, _part("a", {"a": None, "b": None, "c": None, "d": {"e": None}}))
    s.post(PARTS, _part("b", {"c": [None]}))


def embedded_resources_are_checked(s: Session):
    inner = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    s.install(_crd(an_object(template=inner)))
    s.post(
        PARTS,
        _part(
            "a",
            {
                "template": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "p", "odd": 1},
                    "spec": {"x": 1},
                }
            },
        ),
    )
    s.post(PARTS, _part("b", {"template": {"kind": "Pod"}}))
    s.post(
        PARTS, _part("c", {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Bad_Name"}}})
    )


def a_schema_change_applies_to_the_next_write(s: Session):
    s.install(_crd(an_object(a=TEXT)))
    with s.unrecorded():
        s.post(PARTS, _part("a", {"a": "long enough"}))
        crd = s.get(f"{CRDS}/{NAME}").body
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = an_object(
            a={**TEXT, "maxLength": 3}, b={**TEXT, "default": "new"}
        )
        s.put(f"{CRDS}/{NAME}", crd)
    s.eventually(f"{PARTS}/a", lambda a: "b" in a.body["spec"])
    s.merge(f"{PARTS}/a", {"metadata": {"labels": {"x": "y"}}})
    s.merge(f"{PARTS}/a", {"spec": {"b": "changed"}})
    s.merge(f"{PARTS}/a", {"spec": {"a": "other long"}})


def immutable_parts_of_a_crd(s: Session):
    s.install(_crd())
    with s.unrecorded():
        crd = s.get(f"{CRDS}/{NAME}").body
    for change in (
        {"scope": "Cluster"},
        {"group": "other.example.com"},
        {"names": {**crd["spec"]["names"], "kind": "Other"}},
    ):
        s.merge(f"{CRDS}/{NAME}", {"spec": change}, select=_without_schema)


def _without_schema(body):
    return (
        body
        if body["kind"] == "Status"
        else [body["spec"]["scope"], body["spec"]["group"], body["spec"]["names"]]
    )


def a_stored_version_cannot_be_removed(s: Session):
    s.install(_crd())
    with s.unrecorded():
        crd = s.get(f"{CRDS}/{NAME}").body
    crd["spec"]["versions"][0]["name"] = "v2"
    s.put(f"{CRDS}/{NAME}", crd)


def a_second_kind_with_a_taken_name_is_not_accepted(s: Session):
    s.install(_crd())
    other = a_crd("things", "Part", {"spec": an_object(a=TEXT)}, group=GROUP)
    with s.unrecorded():
        s.post(CRDS, other)
    s.eventually(
        f"{CRDS}/things.{{ns}}.example.com",
        lambda a: len(a.body["status"].get("conditions") or []) == 2,
        select=lambda body: [
            {name: c[name] for name in ("type", "status", "reason", "message")}
            for c in body["status"]["conditions"]
        ],
    )


def deleting_a_crd_deletes_its_objects(s: Session):
    s.install(_crd())
    with s.unrecorded():
        s.post(PARTS, _part("a"))
    s.delete(f"{CRDS}/{NAME}", select=_outline)
    s.gone(f"{CRDS}/{NAME}")
    s.gone(f"{PARTS}/a")


def _outline(body):
    return [body["kind"], body["metadata"].get("finalizers"), "deletionTimestamp" in body["metadata"]]


def a_held_object_holds_its_crd(s: Session):
    s.install(_crd())
    body = _part("a")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    with s.unrecorded():
        s.post(PARTS, body)
        s.delete(f"{CRDS}/{NAME}")
    s.eventually(
        f"{PARTS}/a",
        lambda a: "deletionTimestamp" in a.body["metadata"],
        select=lambda b: sorted(b["metadata"]),
    )
    s.post(PARTS, _part("b"))
    s.eventually(
        f"{CRDS}/{NAME}",
        lambda a: any(c["type"] == "Terminating" for c in a.body["status"]["conditions"]),
        select=lambda b: [c for c in b["status"]["conditions"] if c["type"] == "Terminating"],
    )
    s.merge(f"{PARTS}/a", {"metadata": {"finalizers": None}}, select=lambda b: b["kind"])
    s.gone(f"{CRDS}/{NAME}")


def objects_keep_the_requested_version(s: Session):
    s.post(
        "/apis/conformance.example.com/v1beta1/namespaces/{ns}/gadgets",
        custom("Gadget", "a", {"color": "red", "shade": "light"}, version="v1beta1"),
    )
    s.get(f"{GADGETS}/a")
    s.get("/apis/conformance.example.com/v1beta1/namespaces/{ns}/gadgets/a")
    s.merge(f"{GADGETS}/a", {"spec": {"size": 4}})
    s.get("/apis/conformance.example.com/v1beta1/namespaces/{ns}/gadgets/a")


def a_deprecated_version_warns(s: Session):
    path = "/apis/conformance.example.com/v1beta1/namespaces/{ns}/gadgets"
    s.get(path)
    s.post(path, custom("Gadget", "a", {"color": "red"}, version="v1beta1"), select=lambda b: b["kind"])
    s.delete(f"{path}/a", select=lambda b: b["kind"])


def cluster_scoped_objects_have_no_namespace(s: Session):
    s.post(ZONES, custom("Zone", "{ns}-a", {"region": "x"}, namespace="{ns}"))
    s.post(f"{CUSTOM}/zones", custom("Zone", "{ns}-b", {"region": "x"}))


def the_status_of_a_crd_is_its_own_subresource(s: Session):
    s.install(_crd())
    s.merge(
        f"{CRDS}/{NAME}",
        {"status": {"storedVersions": ["v9"]}},
        select=lambda b: b.get("status", b).get("storedVersions", b),
    )
    s.get(f"{CRDS}/{NAME}/status", select=lambda b: [b["kind"], b["status"]["storedVersions"]])


def a_crd_can_be_applied(s: Session):
    s.apply(f"{CRDS}/{NAME}", _crd(), select=lambda b: b["metadata"]["managedFields"][0])


def preserve_unknown_fields_of_the_old_kind_is_refused(s: Session):
    body = _crd()
    body["spec"]["preserveUnknownFields"] = True
    s.post(f"{CRDS}?dryRun=All", body, select=_accepted)
