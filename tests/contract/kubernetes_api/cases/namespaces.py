"""Namespaces: phase, label, deletion."""

from contract.kubernetes_api.objects import CONFIG_MAPS, config_map, namespace
from contract.kubernetes_api.session import STRATEGIC, Session

ALL = "/api/v1/namespaces"
INNER = f"{ALL}/{{ns}}-x/configmaps"


def _phase(body):
    return (
        body
        if body["kind"] == "Status"
        else [body["metadata"].get("finalizers"), body["spec"], body["status"]["phase"]]
    )


def a_namespace_is_active_and_labelled_by_its_name(s: Session):
    s.post(ALL, namespace("{ns}-x"))
    s.get(f"{ALL}/{{ns}}-x")


def its_name_is_a_dns_label(s: Session):
    for name in ("has.dot", "Upper", "a" * 64):
        s.post(ALL, namespace(name))


def its_own_label_comes_back(s: Session):
    s.post(ALL, namespace("{ns}-x", labels={"kubernetes.io/metadata.name": "other", "a": "b"}))
    s.merge(f"{ALL}/{{ns}}-x", {"metadata": {"labels": {"kubernetes.io/metadata.name": "other"}}})
    s.merge(f"{ALL}/{{ns}}-x", {"metadata": {"labels": {"kubernetes.io/metadata.name": None}}})
    s.patch(f"{ALL}/{{ns}}-x", {"metadata": {"labels": None}}, STRATEGIC)


def its_phase_is_not_the_callers(s: Session):
    s.post(ALL, {**namespace("{ns}-x"), "status": {"phase": "Terminating"}})
    s.merge(f"{ALL}/{{ns}}-x", {"status": {"phase": "Terminating"}})


def an_empty_namespace_goes_away(s: Session):
    with s.unrecorded():
        s.post(ALL, namespace("{ns}-x"))
    s.delete(f"{ALL}/{{ns}}-x", select=lambda body: {**body, "status": {"phase": body["status"]["phase"]}})
    s.gone(f"{ALL}/{{ns}}-x")


def a_namespace_takes_its_content_with_it(s: Session):
    with s.unrecorded():
        s.post(ALL, namespace("{ns}-x"))
        s.post(INNER, config_map("a"))
        s.delete(f"{ALL}/{{ns}}-x")
    s.gone(f"{ALL}/{{ns}}-x")
    s.get(INNER, select=lambda body: body["items"])


def held_content_holds_the_namespace(s: Session):
    with s.unrecorded():
        s.post(ALL, namespace("{ns}-x"))
        s.post(INNER, config_map("a", finalizers=["example.com/hold"]))
        s.delete(f"{ALL}/{{ns}}-x")
    s.eventually(
        f"{INNER}/a",
        lambda a: "deletionTimestamp" in a.body["metadata"],
        select=lambda b: sorted(b["metadata"]),
    )
    s.get(f"{ALL}/{{ns}}-x", select=_phase)
    s.merge(f"{INNER}/a", {"metadata": {"finalizers": None}}, select=lambda b: b["kind"])
    s.gone(f"{ALL}/{{ns}}-x")


def nothing_is_created_in_a_namespace_that_ends(s: Session):
    with s.unrecorded():
        s.post(ALL, namespace("{ns}-x", finalizers=["example.com/hold"]))
        s.delete(f"{ALL}/{{ns}}-x")
    s.post(INNER, config_map("a"))
    s.post(
        "/apis/conformance.example.com/v1/namespaces/{ns}-x/widgets",
        {"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {}},
    )
    s.delete(f"{ALL}/{{ns}}-x", select=lambda body: body if body["kind"] == "Status" else body["kind"])
    s.merge(f"{ALL}/{{ns}}-x", {"metadata": {"finalizers": None}}, select=lambda b: b["kind"])
    s.gone(f"{ALL}/{{ns}}-x")


def finalizers_of_the_spec_are_set_by_the_server(s: Session):
    s.post(ALL, {**namespace("{ns}-x"), "spec": {"finalizers": ["example.com/mine"]}})
    s.merge(f"{ALL}/{{ns}}-x", {"spec": {"finalizers": []}})


def finalize_is_its_own_subresource(s: Session):
    with s.unrecorded():
        made = s.post(ALL, namespace("{ns}-x")).body
    s.put(f"{ALL}/{{ns}}-x/finalize", {**made, "spec": {"finalizers": ["kubernetes", "example.com/more"]}})


def system_namespaces_cannot_be_deleted(s: Session):
    for name in ("default", "kube-system", "kube-public"):
        s.delete(f"{ALL}/{name}?dryRun=All")


def namespaces_have_no_collection_delete(s: Session):
    s.delete(f"{ALL}?labelSelector=nothing=here")


def an_object_can_be_made_in_it_at_once(s: Session):
    s.post(ALL, namespace("{ns}-x"), select=lambda b: b["kind"])
    s.post(INNER, config_map("a"), select=lambda b: b["kind"])
    s.get(
        CONFIG_MAPS, select=lambda b: [i for i in b["items"] if i["metadata"]["name"] != "kube-root-ca.crt"]
    )
