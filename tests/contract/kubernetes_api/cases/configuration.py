"""ConfigMaps, Secrets and ServiceAccounts."""

from contract.kubernetes_api.objects import ACCOUNTS, CONFIG_MAPS, SECRETS, config_map, secret
from contract.kubernetes_api.session import Session


def config_map_keys_are_checked(s: Session):
    s.post(CONFIG_MAPS, config_map("a", {"bad key!": "x"}))
    s.post(CONFIG_MAPS, config_map("a", {"": "x"}))
    s.post(CONFIG_MAPS, config_map("a", {"k" * 254: "x"}))
    s.post(CONFIG_MAPS, config_map("a", {"..": "x"}))
    s.post(CONFIG_MAPS, {**config_map("a", {"same": "x"}), "binaryData": {"same": "eA=="}})


def binary_data_is_base64(s: Session):
    s.post(CONFIG_MAPS, {**config_map("a"), "binaryData": {"b": "eHl6"}})
    s.post(CONFIG_MAPS, {**config_map("b"), "binaryData": {"b": "***"}})


def a_config_map_may_be_empty(s: Session):
    s.post(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    s.post(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {}})
    s.post(
        CONFIG_MAPS,
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "c"},
            "data": {"k": ""},
            "immutable": False,
        },
    )


def an_immutable_config_map_stays(s: Session):
    s.post(CONFIG_MAPS, {**config_map("a"), "immutable": True})
    s.merge(f"{CONFIG_MAPS}/a", {"data": {"a": "2"}})
    s.merge(f"{CONFIG_MAPS}/a", {"immutable": False})
    s.merge(f"{CONFIG_MAPS}/a", {"binaryData": {"b": "eA=="}})
    s.merge(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"x": "y"}}})


def a_config_map_keeps_a_callers_generation(s: Session):
    s.post(CONFIG_MAPS, config_map("a", generation=7))
    s.merge(f"{CONFIG_MAPS}/a", {"data": {"b": "1"}})


def string_data_is_written_and_never_read(s: Session):
    s.post(SECRETS, secret("a", stringData={"a": "text", "b": "over"}, data={"b": "eA==", "c": "eQ=="}))
    s.merge(f"{SECRETS}/a", {"stringData": {"a": "new"}})
    s.get(f"{SECRETS}/a")


def a_secret_is_opaque_by_default(s: Session):
    s.post(SECRETS, secret("a"))
    s.post(SECRETS, secret("b", type="example.com/own", data={"a": "eA=="}))


def secret_data_is_base64(s: Session):
    s.post(SECRETS, secret("a", data={"a": "***"}))
    s.post(SECRETS, secret("a", data={"bad key!": "eA=="}))
    s.post(SECRETS, secret("a", data={"a": 5}))


def known_secret_types_need_their_keys(s: Session):
    s.post(SECRETS, secret("a", type="kubernetes.io/basic-auth"))
    s.post(SECRETS, secret("b", type="kubernetes.io/tls", stringData={"tls.crt": "x"}))
    s.post(SECRETS, secret("c", type="kubernetes.io/dockerconfigjson", stringData={".dockerconfigjson": "{"}))
    s.post(SECRETS, secret("d", type="kubernetes.io/ssh-auth"))
    s.post(SECRETS, secret("e", type="kubernetes.io/service-account-token"))
    s.post(SECRETS, secret("f", type="kubernetes.io/dockercfg", stringData={}))


def a_secret_type_does_not_change(s: Session):
    s.post(SECRETS, secret("a"))
    s.merge(f"{SECRETS}/a", {"type": "example.com/own"})


def an_immutable_secret_stays(s: Session):
    s.post(SECRETS, secret("a", immutable=True, stringData={"a": "b"}))
    s.merge(f"{SECRETS}/a", {"stringData": {"a": "c"}})
    s.merge(f"{SECRETS}/a", {"immutable": None})


def a_service_account_is_small(s: Session):
    s.post(ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}})
    s.post(
        ACCOUNTS,
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "b"},
            "secrets": [{"name": "x"}],
            "imagePullSecrets": [{"name": "y"}],
            "automountServiceAccountToken": False,
        },
    )
    s.merge(f"{ACCOUNTS}/a", {"metadata": {"annotations": {"x": "y"}}})


def every_namespace_has_a_default_account(s: Session):
    s.eventually(f"{ACCOUNTS}/default", lambda answer: answer.is_success)


def an_account_name_is_checked(s: Session):
    s.post(ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "Bad_Name"}})
