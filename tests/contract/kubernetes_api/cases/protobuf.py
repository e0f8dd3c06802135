"""Protobuf bodies as kubectl and Helm send them for built-in kinds. Responses are requested as JSON."""

from contract.kubernetes_api.objects import CONFIG_MAPS, JOBS, RBAC, SECRETS, WIDGETS, config_map, widget
from contract.kubernetes_api.session import PROTOBUF, Session

ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def _number(value: int) -> bytes:
    reported = b""
    while value > 0x7F:
        reported += bytes([value & 0x7F | 0x80])
        value >>= 7
    return reported + bytes([value])


def _field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    raw = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(raw)) + raw


def _message(api: str, kind: str, *fields: bytes) -> bytes:
    """The envelope: the magic number, the type, and the object."""
    return b"k8s\x00" + _field(1, _field(1, api) + _field(2, kind)) + _field(2, b"".join(fields))


def _meta(name: str, labels: dict[str, str] | None = None) -> bytes:
    entries = [_field(11, _field(1, key) + _field(2, value)) for key, value in (labels or {}).items()]
    return _field(1, _field(1, name) + b"".join(entries))


def a_config_map_in_protobuf(s: Session):
    body = _message("v1", "ConfigMap", _meta("a", {"x": "y"}), _field(2, _field(1, "k") + _field(2, "v")))
    s.post(f"{CONFIG_MAPS}?fieldManager=kubectl-create", body, media=PROTOBUF)


def a_secret_in_protobuf(s: Session):
    data = _field(2, _field(1, "release") + _field(2, b"\x00\x01\xff"))
    s.post(
        SECRETS,
        _message("v1", "Secret", _meta("a", {"owner": "helm"}), data, _field(3, "helm.sh/release.v1")),
        media=PROTOBUF,
    )


def a_put_in_protobuf(s: Session):
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
    s.put(
        f"{CONFIG_MAPS}/a",
        _message("v1", "ConfigMap", _meta("a"), _field(2, _field(1, "k") + _field(2, "v"))),
        media=PROTOBUF,
    )


def a_namespace_in_protobuf(s: Session):
    s.post(
        "/api/v1/namespaces",
        _message("v1", "Namespace", _field(1, _field(1, s.filled("{ns}-x")))),
        media=PROTOBUF,
        shown="{ns}-x",
    )


def a_job_in_protobuf(s: Session):
    container = _field(1, "main") + _field(2, "busybox") + _field(3, "echo") + _field(3, "hello")
    template = _field(2, _field(2, container) + _field(3, "Never"))
    s.post(JOBS, _message("batch/v1", "Job", _meta("a"), _field(2, _field(6, template))), media=PROTOBUF)


def roles_and_bindings_in_protobuf(s: Session):
    api = "rbac.authorization.k8s.io/v1"
    rule = _field(2, _field(1, "get") + _field(1, "list") + _field(2, "") + _field(3, "pods"))
    s.post(f"{RBAC}/namespaces/{{ns}}/roles", _message(api, "Role", _meta("a"), rule), media=PROTOBUF)
    subject = _field(2, _field(1, "ServiceAccount") + _field(3, "x") + _field(4, "default"))
    reference = _field(3, _field(1, "rbac.authorization.k8s.io") + _field(2, "Role") + _field(3, "a"))
    s.post(
        f"{RBAC}/namespaces/{{ns}}/rolebindings",
        _message(api, "RoleBinding", _meta("a"), subject, reference),
        media=PROTOBUF,
    )


def delete_options_in_protobuf(s: Session):
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
        s.post(WIDGETS, widget("a"))
    s.delete(f"{CONFIG_MAPS}/a", _message("v1", "DeleteOptions", _field(4, "Sideways")), media=PROTOBUF)
    s.delete(f"{CONFIG_MAPS}/a", _message("v1", "DeleteOptions", _field(4, "Background")), media=PROTOBUF)
    s.delete(f"{WIDGETS}/a", _message("v1", "DeleteOptions", _field(4, "Background")), media=PROTOBUF)


def access_is_reviewed_in_protobuf(s: Session):
    attributes = _field(1, _field(1, "default") + _field(2, "create") + _field(5, "pods"))
    s.post(
        ACCESS,
        _message("authorization.k8s.io/v1", "SelfSubjectAccessReview", _field(1, b""), _field(2, attributes)),
        media=PROTOBUF,
    )


def identity_is_reviewed_in_protobuf(s: Session):
    body = _message("authentication.k8s.io/v1", "SelfSubjectReview", _field(1, b""), _field(2, b""))
    s.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", body, media=PROTOBUF)


def another_kind_in_protobuf_is_refused(s: Session):
    s.post(CONFIG_MAPS, _message("v1", "Nonsense", _meta("a")), media=PROTOBUF)
    s.post(CONFIG_MAPS, _message("v1", "ConfigMap", _meta("Bad_Name")), media=PROTOBUF)
