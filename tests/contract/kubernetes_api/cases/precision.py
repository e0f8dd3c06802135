"""Order of checks and exact messages that clients parse."""

from contract.kubernetes_api.objects import (
    CONFIG_MAPS,
    LEASES,
    WIDGETS,
    config_map,
    namespace,
    secret,
    widget,
)
from contract.kubernetes_api.session import TABLE, Session
from contract.kubernetes_api.standard_kinds import TEXT, WHOLE, a_crd, a_list, a_map, an_object

NAMESPACES = "/api/v1/namespaces"
GROUP = "{ns}.example.com"


def a_bad_dry_run_is_found_before_a_missing_object(s: Session):
    """D6: DELETE of one object and of many."""
    s.delete(f"{CONFIG_MAPS}/none?dryRun=Some")
    s.delete(f"{WIDGETS}/none?dryRun=Some")
    s.delete(f"{CONFIG_MAPS}?dryRun=Some")
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["Some"]}
    s.delete(f"{CONFIG_MAPS}/none", options)
    s.delete(f"{CONFIG_MAPS}/none", {**options, "dryRun": ["All", "Some"]})
    s.delete(f"{CONFIG_MAPS}/none", {**options, "dryRun": ["All"]})


def a_version_in_a_new_object(s: Session):
    """D6: creating with a resourceVersion, by kind, verb and dry run."""
    for n, version in enumerate(("5", "0", "", "nonsense")):
        for query in ("?dryRun=All", "?"):
            s.post(f"{CONFIG_MAPS}{query}", config_map(f"p{n}", resourceVersion=version), select=_short)
            s.post(f"{WIDGETS}{query}", widget(f"p{n}", resourceVersion=version), select=_short)
            s.put(f"{LEASES}/l{n}{query}", _lease(f"l{n}", resourceVersion=version), select=_short)
            s.apply(f"{CONFIG_MAPS}/b{n}{query}", config_map(f"b{n}", resourceVersion=version), select=_short)


def _lease(name, **meta):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, **meta}}


def _short(body):
    if body["kind"] == "Status":
        return body
    version = body["metadata"].get("resourceVersion")
    return [body["kind"], version if version in (None, "5", "0", "nonsense") else "a revision"]


def orphans_and_foreground_exclude_each_other(s: Session):
    """D6: both finalizers at once."""
    both = ["orphan", "foregroundDeletion"]
    s.post(CONFIG_MAPS, config_map("a", finalizers=both))
    s.post(WIDGETS, widget("a", finalizers=both))
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("b", finalizers=["orphan"]))
        s.post(WIDGETS, widget("b", finalizers=["orphan"]))
        s.post(NAMESPACES, namespace("{ns}-y", finalizers=["orphan"]))
    s.merge(f"{CONFIG_MAPS}/b", {"metadata": {"finalizers": both}})
    s.merge(f"{WIDGETS}/b", {"metadata": {"finalizers": both}})
    s.merge(f"{NAMESPACES}/{{ns}}-y", {"metadata": {"finalizers": both}})
    s.merge(f"{WIDGETS}/b/status", {"metadata": {"finalizers": both}}, select=_short)


def cells_of_lists_and_maps_are_json(s: Session):
    """D6: `["x"]`, not `['x']`."""
    spec = an_object(
        names=a_list(TEXT),
        numbers=a_list(WHOLE),
        map=a_map(TEXT),
        flags=a_list({"type": "boolean"}),
        objects=a_list(an_object(name=TEXT)),
        ratio={"type": "number"},
        whole=WHOLE,
        flag={"type": "boolean"},
        when=TEXT,
        any={"x-kubernetes-preserve-unknown-fields": True},
    )
    columns = [
        {"name": name, "type": "string", "jsonPath": f".spec.{name}"}
        for name in ("names", "numbers", "map", "flags", "objects", "ratio", "whole", "flag", "any")
    ]
    columns += [
        {"name": "All", "type": "string", "jsonPath": ".spec.names[*]"},
        {"name": "Filtered", "type": "string", "jsonPath": ".spec.objects[*].name"},
        {"name": "WholeList", "type": "integer", "jsonPath": ".spec.numbers"},
        {"name": "WholeText", "type": "integer", "jsonPath": ".spec.when"},
        {"name": "WholeRatio", "type": "integer", "jsonPath": ".spec.ratio"},
        {"name": "NumberWhole", "type": "number", "jsonPath": ".spec.whole"},
        {"name": "FlagText", "type": "boolean", "jsonPath": ".spec.when"},
        {"name": "DateText", "type": "date", "jsonPath": ".spec.when"},
        {"name": "DateWhole", "type": "date", "jsonPath": ".spec.whole"},
    ]
    s.install(
        a_crd("parts", "Part", {"spec": spec}, group=GROUP, version={"additionalPrinterColumns": columns})
    )
    whole = {
        "names": ["x", 'y "z"', "<&>", "ü"],
        "numbers": [1, -2],
        "map": {"b": "2", "a": "1"},
        "flags": [True, False],
        "objects": [{"name": "one"}, {"name": "two"}],
        "ratio": 1.5,
        "whole": 7,
        "flag": True,
        "when": "nonsense",
        "any": {"deep": [None, 1.0, {"a": []}]},
    }
    path = "/apis/{ns}.example.com/v1/namespaces/{ns}/parts"
    with s.unrecorded():
        for name, spec in (
            ("all", whole),
            ("empty", {"names": [], "map": {}, "objects": [], "any": None}),
            ("large", {"ratio": 1e21, "any": 12345678901234, "numbers": [10000000]}),
            ("none", {}),
        ):
            part = {"apiVersion": f"{GROUP}/v1", "kind": "Part", "metadata": {"name": name}, "spec": spec}
            s.post(path, part)
    s.get(path, accept=TABLE, select=lambda body: [row["cells"] for row in body["rows"]])


def _version(name, **more):
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": an_object(a=TEXT)}}}
    return {"name": name, "served": True, "storage": False, "schema": schema, **more}


def a_deprecated_version_names_its_successor(s: Session):
    """D6: the newest served version that is not deprecated and newer than the requested one."""
    crd = a_crd("parts", "Part", {"spec": an_object(a=TEXT)}, group=GROUP)
    crd["spec"]["versions"] += [
        _version("v1alpha1", deprecated=True),
        _version("v1beta1"),
        _version("v2", deprecated=True),
        _version("v1beta2", deprecated=True, deprecationWarning="words of its own"),
    ]
    s.install(crd)
    for version in ("v1alpha1", "v1beta1", "v2", "v1beta2", "v1"):
        s.get(f"/apis/{{ns}}.example.com/{version}/namespaces/{{ns}}/parts", select=lambda body: body["kind"])


def a_deprecated_version_alone_names_none(s: Session):
    crd = a_crd("parts", "Part", {"spec": an_object(a=TEXT)}, group=GROUP, version={"deprecated": True})
    crd["spec"]["versions"].append(_version("v2", served=False))
    s.install(crd)
    s.get("/apis/{ns}.example.com/v1/namespaces/{ns}/parts", select=lambda body: body["kind"])


def a_put_of_another_kind(s: Session):
    """D6: a body of another kind than the path."""
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
        made = s.post(WIDGETS, widget("a")).body
        s.merge(f"{WIDGETS}/a", {"spec": {"size": 2}})
        now = s.merge(f"{WIDGETS}/a", {"spec": {"size": 3}}).body
    s.put(f"{CONFIG_MAPS}/a", secret("a"))
    s.put(f"{CONFIG_MAPS}/a", widget("a"))
    s.put(f"{WIDGETS}/a", config_map("a"))
    for kind in ("Gadget", "Nonsense"):
        s.put(f"{WIDGETS}/a", {**widget("a"), "kind": kind})
        s.put(f"{WIDGETS}/a", {**made, "kind": kind})
        s.put(f"{WIDGETS}/a", {**now, "kind": kind})
        s.put(f"{WIDGETS}/a/status", {**widget("a"), "kind": kind})
    s.put(f"{WIDGETS}/none", {**widget("none"), "kind": "Gadget"})
    s.put(f"{WIDGETS}/other", {**widget("a"), "kind": "Gadget"})
    s.put(f"{WIDGETS}/a", {**now, "kind": "Gadget", "spec": {"size": 1000}})
    s.put(f"{WIDGETS}/a", {**now, "kind": "Gadget", "nonsense": True})
    s.put(f"{WIDGETS}/a?fieldValidation=Strict", {**now, "kind": "Gadget", "nonsense": True})
    s.post(WIDGETS, {**widget("b"), "kind": "Gadget"})
    s.apply(f"{WIDGETS}/a", {**widget("a"), "kind": "Gadget"})
    s.merge(f"{WIDGETS}/a", {"kind": "Gadget"})


def a_terminating_namespace_reports_its_remaining_content(s: Session):
    """D6: conditions of a namespace whose content cannot be deleted."""
    inner = f"{NAMESPACES}/{{ns}}-x/configmaps"
    with s.unrecorded():
        s.post(NAMESPACES, namespace("{ns}-x"))
        s.post(inner, config_map("a", finalizers=["example.com/hold"]))
        s.post(inner, config_map("b", finalizers=["example.com/hold", "example.com/other"]))
        s.post(
            "/apis/conformance.example.com/v1/namespaces/{ns}-x/widgets",
            widget("a", finalizers=["example.com/hold"]),
        )
        s.delete(f"{NAMESPACES}/{{ns}}-x")
    s.eventually(f"{NAMESPACES}/{{ns}}-x", _has_conditions, select=lambda body: body["status"])
    with s.unrecorded():
        for path in (f"{inner}/a", f"{inner}/b"):
            s.merge(path, {"metadata": {"finalizers": None}})
    s.eventually(
        f"{NAMESPACES}/{{ns}}-x",
        lambda a: "configmaps" not in str(a.body["status"]["conditions"]),
        select=lambda body: body["status"],
    )
    with s.unrecorded():
        widgets = "/apis/conformance.example.com/v1/namespaces/{ns}-x/widgets"
        s.merge(f"{widgets}/a", {"metadata": {"finalizers": None}})
    s.gone(f"{NAMESPACES}/{{ns}}-x")


def _has_conditions(answer):
    conditions = {
        condition["type"]: condition["status"] for condition in answer.body["status"].get("conditions", ())
    }
    return conditions.get("NamespaceFinalizersRemaining") == "True"
