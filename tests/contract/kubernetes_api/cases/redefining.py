"""CRDs with conflicting names, changes and deletion of CRDs; their objects in another version or schema."""

from contract.kubernetes_api.objects import GADGETS
from contract.kubernetes_api.session import Session
from contract.kubernetes_api.standard_kinds import CRDS, TEXT, a_crd, an_object

GROUP = "{ns}.example.com"
PARTS = "/apis/{ns}.example.com/v1/namespaces/{ns}/parts"
PARTS_2 = "/apis/{ns}.example.com/v2/namespaces/{ns}/parts"
CRD, OTHER = f"{CRDS}/parts.{{ns}}.example.com", f"{CRDS}/things.{{ns}}.example.com"
GADGETS_BETA = "/apis/conformance.example.com/v1beta1/namespaces/{ns}/gadgets"


def _crd(spec=None, **names):
    body = a_crd("parts", "Part", {"spec": spec or an_object(a=TEXT)}, group=GROUP)
    body["spec"]["names"].update(names)
    return body


def _other(kind="Part", **names):
    body = a_crd("things", kind, {"spec": an_object(a=TEXT)}, group=GROUP)
    body["spec"]["names"].update(names)
    return body


def _part(name="a", spec=None, version="v1", **meta):
    return {
        "apiVersion": f"{{ns}}.example.com/{version}",
        "kind": "Part",
        "metadata": {"name": name, **meta},
        "spec": spec or {},
    }


def _gadget(spec, version="v1beta1"):
    return {
        "apiVersion": f"conformance.example.com/{version}",
        "kind": "Gadget",
        "metadata": {"name": "a"},
        "spec": spec,
    }


def _conditions(body):
    kept = ("type", "status", "reason", "message")
    return [{name: condition[name] for name in kept} for condition in body["status"].get("conditions") or ()]


def _name_conditions(body):
    return body if body["kind"] == "Status" else [body["status"].get("acceptedNames"), _conditions(body)]


def _statuses(answer):
    return [condition["status"] for condition in answer.body["status"].get("conditions") or ()]


def a_new_definition_has_no_names_yet(s: Session):
    s.post(CRDS, _crd())


def a_freed_name_is_given_to_a_waiting_definition(s: Session):
    s.install(_crd())
    with s.unrecorded():
        s.post(CRDS, _other())
    s.eventually(OTHER, lambda a: len(_statuses(a)) == 2, select=_name_conditions)
    s.get("/apis/{ns}.example.com/v1/things")
    with s.unrecorded():
        s.delete(CRD)
    s.gone(CRD)
    s.eventually(OTHER, lambda a: _statuses(a) == ["True", "True"], select=_name_conditions)


def short_names_can_be_taken_too(s: Session):
    s.install(_crd(shortNames=["pp"]))
    with s.unrecorded():
        s.post(CRDS, _other("Thing", shortNames=["pp", "part"], categories=["all"]))
    s.eventually(OTHER, lambda a: len(_statuses(a)) == 2, select=_name_conditions)
    s.merge(OTHER, {"spec": {"names": {"shortNames": ["tt"]}}}, select=lambda b: b["spec"]["names"])
    s.eventually(OTHER, lambda a: _statuses(a) == ["True", "True"], select=_name_conditions)
    s.merge(OTHER, {"spec": {"names": {"shortNames": ["tt", "pp"]}}}, select=lambda b: b["spec"]["names"])
    s.eventually(OTHER, lambda a: _statuses(a) == ["False", "True"], select=_name_conditions)


def kind_and_scope_are_free_until_a_definition_is_established(s: Session):
    s.install(_crd())
    with s.unrecorded():
        s.post(CRDS, _other(singular="thing"))
    s.eventually(OTHER, lambda a: len(_statuses(a)) == 2, select=_name_conditions)
    change = {"spec": {"scope": "Cluster", "names": {"kind": "Thing", "listKind": "ThingList"}}}
    s.merge(OTHER, change, select=lambda b: b["spec"]["names"])
    s.eventually(OTHER, lambda a: _statuses(a) == ["True", "True"], select=_name_conditions)
    s.merge(OTHER, {"spec": {"scope": "Namespaced"}}, select=lambda b: b["message"])


def a_definition_that_never_got_its_names_is_deleted_at_once(s: Session):
    s.install(_crd())
    with s.unrecorded():
        s.post(CRDS, _other())
    s.eventually(OTHER, lambda a: len(_statuses(a)) == 2, record=False)
    path = f"{CRDS}?fieldSelector=metadata.name=things.{{ns}}.example.com"
    with s.watch(path, select=lambda event: [event["type"], _conditions(event["object"])]) as watching:
        watching.read(1)
        s.delete(OTHER, select=_conditions)
        watching.until(lambda event: event["type"] == "DELETED")


def deleting_a_definition_has_its_own_messages(s: Session):
    s.install(_crd())
    for preconditions in ({"uid": "11111111-2222-3333-4444-555555555555"}, {"resourceVersion": "5"}):
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions}
        s.delete(CRD, options, select=lambda b: [b["message"].rpartition(" ")[0], b["details"]])
    s.delete(f"{CRD}?dryRun=All", select=_deletion)
    s.get(CRD, select=_deletion)


def _deletion(body):
    """The conditions of a CRD after a deletion request."""
    kept = ("deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "generation")
    return [_conditions(body), {name: body["metadata"].get(name) for name in kept}]


def a_terminating_definition_still_serves_its_objects(s: Session):
    s.install(_crd())
    with s.unrecorded():
        s.post(PARTS, _part(finalizers=["example.com/hold"]))
    s.delete(f"{CRD}?propagationPolicy=Foreground", select=_deletion)
    s.eventually(CRD, lambda a: _conditions(a.body)[-1]["reason"].endswith("InProgress"), select=_deletion)
    s.delete(CRD, select=_deletion)
    s.get("/apis/{ns}.example.com/v1", select=lambda b: b["kind"])
    s.apply(f"{PARTS}/new", _part("new"))
    s.put(f"{PARTS}/newer", _part("newer"))
    s.post(CRDS, _crd())
    s.merge(f"{PARTS}/a", {"spec": {"a": "changed"}}, select=lambda b: b["spec"])
    s.merge(f"{PARTS}/a", {"metadata": {"finalizers": None}}, select=lambda b: b["kind"])
    s.gone(CRD)
    s.post(CRDS, _crd(), select=lambda b: b["kind"])


def a_definition_may_have_any_finalizer(s: Session):
    body = _crd()
    body["metadata"]["finalizers"] = ["example.com/hold", "plain"]
    s.post(CRDS, body, select=lambda b: b["metadata"]["finalizers"])
    s.eventually(CRD, lambda a: _statuses(a) == ["True", "True"], record=False)
    s.delete(CRD, select=lambda b: b["metadata"]["finalizers"])
    s.eventually(CRD, lambda a: _conditions(a.body)[-1]["status"] == "False", select=_deletion)
    s.merge(CRD, {"metadata": {"finalizers": None}}, select=lambda b: b["metadata"].get("finalizers"))
    s.gone(CRD)


def a_finalizer_is_a_name(s: Session):
    body = _crd()
    body["metadata"] |= {"finalizers": ["a b"], "name": "wrong"}
    s.post(f"{CRDS}?dryRun=All", body)


def a_watch_ends_with_its_kind(s: Session):
    s.install(_crd())
    with s.unrecorded():
        s.post(PARTS, _part())
    with s.watch(
        PARTS, select=lambda event: [event["type"], event["object"]["metadata"]["name"]]
    ) as watching:
        watching.read(1)
        with s.unrecorded():
            s.delete(CRD)
        watching.rest(seconds=30)


def a_watch_ends_with_a_change_of_its_kind(s: Session):
    s.install(_crd())
    with s.watch(PARTS) as watching:
        with s.unrecorded():
            s.merge(CRD, {"metadata": {"labels": {"still": "the-same"}}})
            s.post(PARTS, _part())
        watching.read(1)
        with s.unrecorded():
            current = s.get(CRD).body
            _schema(current)["properties"]["spec"] = an_object(a=TEXT, b=TEXT)
            s.put(CRD, current)
        watching.rest(seconds=30)


def _schema(crd, version=0):
    return crd["spec"]["versions"][version]["schema"]["openAPIV3Schema"]


def fields_removed_from_the_schema_are_not_shown(s: Session):
    s.install(_crd(an_object(a=TEXT, b=TEXT)))
    with s.unrecorded():
        s.post(PARTS, _part(spec={"a": "1", "b": "2"}))
        current = s.get(CRD).body
        inner = {**an_object(e={**TEXT, "default": "E"}), "default": {}}
        _schema(current)["properties"]["spec"] = an_object(a=TEXT, d=inner)
        s.put(CRD, current)
    s.eventually(f"{PARTS}/a", lambda a: "d" in a.body["spec"])
    s.get(PARTS, select=lambda b: b["items"])
    s.merge(f"{PARTS}/a", {"spec": {"a": "9"}})
    s.apply(f"{PARTS}/a", _part(spec={"a": "10"}), force=True)


def another_version_becomes_the_stored_one(s: Session):
    s.install(_crd())
    with s.unrecorded():
        s.post(PARTS, _part(spec={"a": "1"}))
        current = s.get(CRD).body
    current["spec"]["versions"][0]["storage"] = False
    schema = an_object(spec=an_object(a=TEXT, n={**TEXT, "default": "two"}))
    current["spec"]["versions"].append(
        {"name": "v2", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    )
    with s.unrecorded():
        s.put(CRD, current)
    s.eventually(f"{PARTS_2}/a", lambda a: a.status == 200)
    s.get(CRD, select=lambda b: [b["status"]["storedVersions"], b["metadata"]["generation"]])
    s.get(f"{PARTS}/a")
    s.merge(f"{PARTS}/a", {"spec": {"a": "2"}})
    s.get(f"{PARTS_2}/a")


def a_version_can_be_removed_once_nothing_is_stored_in_it(s: Session):
    body = _crd()
    body["spec"]["versions"].append({**body["spec"]["versions"][0], "name": "v2", "storage": False})
    s.install(body)
    with s.unrecorded():
        s.post(PARTS, _part(spec={"a": "1"}))
        current = s.get(CRD).body
        for version in current["spec"]["versions"]:
            version["storage"] = not version["storage"]
        s.put(CRD, current)
    s.merge(CRD, {"spec": {"versions": current["spec"]["versions"][1:]}}, select=lambda b: b["message"])
    s.merge(
        f"{CRD}/status",
        {"status": {"storedVersions": ["v2"]}},
        select=lambda b: b["status"]["storedVersions"],
    )
    s.merge(f"{PARTS_2}/a", {"spec": {"a": "2"}}, select=lambda b: b["spec"])
    s.merge(CRD, {"spec": {"versions": current["spec"]["versions"][1:]}}, select=lambda b: b["kind"])
    s.eventually(f"{PARTS}/a", lambda a: a.status == 404)
    s.get(f"{PARTS_2}/a")
    s.merge(f"{PARTS_2}/a", {"spec": {"a": "3"}})


def writes_in_a_version_that_lacks_a_field_lose_it(s: Session):
    s.post(GADGETS, _gadget({"color": "red", "size": 3}, "v1"))
    s.merge(f"{GADGETS_BETA}/a", {"metadata": {"labels": {"x": "y"}}})
    s.get(f"{GADGETS}/a")
    s.merge(f"{GADGETS_BETA}/a", {"spec": {"shade": "light"}})
    current = s.get(f"{GADGETS_BETA}/a").body
    s.put(f"{GADGETS_BETA}/a", current)
    s.merge(f"{GADGETS_BETA}/a?dryRun=All", {"spec": {"shade": "light", "color": "x"}})


def applying_the_same_object_in_another_version_changes_nothing(s: Session):
    s.apply(f"{GADGETS_BETA}/a", _gadget({"color": "green"}), "two")
    s.apply(f"{GADGETS_BETA}/a", _gadget({"color": "green"}), "two")
    s.apply(f"{GADGETS}/a", _gadget({"color": "green"}, "v1"), "two")
    s.apply(f"{GADGETS}/a", _gadget({"color": "green", "size": 4}, "v1"), "three")
    s.apply(f"{GADGETS_BETA}/a", _gadget({"color": "green"}), "two")


def objects_are_checked_in_the_version_they_are_written_in(s: Session):
    body = _crd()
    schema = an_object(spec={**an_object(a=TEXT, must=TEXT), "required": ["must"]})
    body["spec"]["versions"].append(
        {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": schema}}
    )
    s.install(body)
    s.post(PARTS_2, _part(spec={"a": "1", "must": "x"}, version="v2"))
    s.get(f"{PARTS_2}/a")
    s.merge(f"{PARTS_2}/a", {"spec": {"a": "2"}})
    s.merge(f"{PARTS_2}/a", {"metadata": {"labels": {"a": "b"}}})
    s.merge(f"{PARTS_2}/a", {"spec": {"a": "2", "must": "y"}})
    with s.watch(PARTS_2) as watching:
        watching.read(1)
        s.merge(f"{PARTS}/a", {"spec": {"a": "9"}}, select=lambda b: b["spec"])
        watching.read(1)


def unchecked_formats_produce_a_warning(s: Session):
    spec = an_object(a={**TEXT, "format": "made-up"}, b={**TEXT, "format": "date-time"})
    s.post(CRDS, _crd(spec), select=lambda b: b["kind"])
    s.eventually(CRD, lambda a: _statuses(a) == ["True", "True"], record=False)
    s.merge(CRD, {"metadata": {"labels": {"x": "y"}}}, select=lambda b: b["kind"])
    with s.unrecorded():
        current = s.get(CRD).body
    odd = an_object(
        c={"type": "array", "items": {**TEXT, "format": "odd"}}, d={"type": "integer", "format": "odder"}
    )
    _schema(current)["properties"]["status"] = odd
    s.put(CRD, current, select=lambda b: b["kind"])


def a_protected_group_records_its_approval(s: Session):
    for annotation in ("https://github.com/kubernetes/enhancements/pull/1111", 'unapproved, "for a test"'):
        group = "{ns}.k8s.io" if annotation.startswith("https") else "{ns}.kubernetes.io"
        body = a_crd("parts", "Part", {"spec": an_object(a=TEXT)}, group=group)
        body["metadata"]["annotations"] = {"api-approved.kubernetes.io": annotation}
        with s.unrecorded():
            s.post(CRDS, body)
        s.eventually(
            f"{CRDS}/parts.{group}",
            lambda a: len(_statuses(a)) == 3 and _established(a),
            select=lambda b: sorted(_conditions(b), key=lambda item: item["type"]),
        )


def _established(answer):
    return {"Established", "True"} in [
        {condition["type"], condition["status"]} for condition in _conditions(answer.body)
    ]
