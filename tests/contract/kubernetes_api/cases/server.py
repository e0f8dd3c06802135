"""Routes that are not resources: health, version, authentication, unknown paths."""

from contract.kubernetes_api.objects import CONFIG_MAPS, WIDGETS
from contract.kubernetes_api.session import Session


def health_is_plain_text(s: Session):
    for path in ("/healthz", "/livez", "/readyz", "/livez/ping"):
        s.get(path)


def health_of_an_unknown_check_is_not_found(s: Session):
    s.get("/livez/nonsense")


def verbose_health_lists_its_checks(s: Session):
    """D4: `?verbose` lists the checks; each server has its own list, the format is the same."""

    def form(body):
        lines = body.splitlines()
        checks = [line for line in lines if line.startswith("[")]
        return [
            all(line.startswith("[+]") and line.endswith(" ok") for line in checks),
            "[+]ping ok" in checks,
            lines[-1],
        ]

    for path in ("/healthz", "/livez", "/readyz"):
        s.get(f"{path}?verbose", select=form)
        s.get(f"{path}?verbose=true", select=form)
        s.get(f"{path}?exclude=ping&verbose", select=lambda body: "[+]ping excluded: ok" in body.splitlines())
        s.get(f"{path}?exclude=ping")
        s.get(f"{path}/ping")
        s.get(f"{path}/ping?verbose")
        s.get(f"{path}/log")
        s.get(f"{path}/etcd")
    s.get("/readyz/shutdown")


def health_accepts_any_method(s: Session):
    s.post("/livez")
    s.delete("/readyz/ping")


def version_names_the_release(s: Session):
    s.get("/version", select=lambda body: [sorted(body), body["major"], body["minor"], body["gitVersion"]])


def an_unknown_route_is_plain_text_outside_built_in_groups(s: Session):
    for path in (
        "/nonsense",
        "/api/v2",
        "/api/v2/pods",
        "/apis/nonsense",
        "/apis/nonsense.example.com/v1",
        "/apis/batch/v9",
    ):
        s.get(path)
    s.get("/apis/nonsense.example.com/v1/namespaces/{ns}/things")
    s.get("/apis/batch/v9/namespaces/{ns}/jobs")


def an_unknown_resource_in_a_built_in_group_is_a_status(s: Session):
    s.get("/api/v1/namespaces/{ns}/nonsense")
    s.get("/apis/batch/v1/namespaces/{ns}/nonsense/a")
    s.post("/api/v1/namespaces/{ns}/nonsense", {"apiVersion": "v1", "kind": "Nonsense"})
    s.delete("/apis/batch/v1/nonsense/a")


def an_unknown_resource_in_a_custom_group_is_plain_text(s: Session):
    s.get("/apis/conformance.example.com/v1/namespaces/{ns}/nonsense")
    s.get("/apis/conformance.example.com/v1/nonsense/a")
    s.get("/apis/conformance.example.com/v9/widgets")
    s.get("/apis/conformance.example.com/v9")


def a_cluster_scoped_kind_has_no_namespaced_path(s: Session):
    s.get("/api/v1/namespaces/{ns}/nodes")
    s.get("/apis/conformance.example.com/v1/namespaces/{ns}/zones")


def a_namespaced_kind_is_not_addressed_without_its_namespace(s: Session):
    s.get("/api/v1/configmaps/a")
    s.get("/apis/conformance.example.com/v1/widgets/a")


def methods_that_make_no_sense_are_not_allowed(s: Session):
    s.merge(CONFIG_MAPS, {})
    s.merge(WIDGETS, {})
    s.request("OPTIONS", CONFIG_MAPS)
    s.request("DANCE", CONFIG_MAPS)
    s.post("/version", {})
    s.post("/api/v1", {})
    s.post("/apis", {}, select=lambda body: body["kind"])


def head_is_refused_as_get(s: Session):
    s.request("HEAD", "/version", select=lambda _: None)


def a_trailing_slash_is_ignored(s: Session):
    s.get(
        "/api/v1/namespaces/{ns}/configmaps/",
        select=lambda body: body["kind"] if isinstance(body, dict) else body,
    )
    s.get("/version/", select=lambda body: body["major"] if isinstance(body, dict) else body)


def a_bad_token_is_unauthorized(s: Session):
    s.get("/api", token="nonsense")  # noqa: S106
    s.get(CONFIG_MAPS, token="nonsense")  # noqa: S106
    s.post(WIDGETS, {}, token="nonsense")  # noqa: S106


def an_anonymous_caller_may_read_only_health(s: Session):
    s.get("/livez", token="")
    s.get("/version", token="", select=lambda body: body.get("major", body))
    s.get("/api", token="")
    s.get(CONFIG_MAPS, token="")
    s.get(f"{WIDGETS}/a", token="")
    s.post(WIDGETS, {}, token="")


def names_with_slashes_and_dots_are_refused(s: Session):
    s.get(f"{CONFIG_MAPS}/..%2Fa")
    s.get(f"{CONFIG_MAPS}/%2E%2E")
    s.get(f"{CONFIG_MAPS}/a%2Fb")


def responses_are_indented_on_request(s: Session):
    """D4: `?pretty`, and for browsers and curl by default."""
    with s.unrecorded():
        s.post(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    for path in (f"{CONFIG_MAPS}/a", CONFIG_MAPS, "/version", "/api/v1", f"{CONFIG_MAPS}/none"):
        for query in ("", "?pretty=true", "?pretty=1", "?pretty=false", "?pretty=0", "?pretty"):
            s.request("GET", path + query, raw=_is_indented)
        for agent in ("curl/8.0", "Wget/1.0", "Mozilla/5.0 (X11)", "kubectl/v1.35"):
            s.request("GET", path, headers={"User-Agent": agent}, raw=_is_indented)
        s.request("GET", path + "?pretty=false", headers={"User-Agent": "curl/8.0"}, raw=_is_indented)


def _is_indented(content):
    return b'\n  "' in content
