"""Which server and user a kubeconfig, the environment or a pod name."""

import base64
import os
import sys

import pytest
import yaml

from kubekit.client.connection import NoConnection, default, from_kubeconfig, in_cluster


def a_config(*, cluster=None, user=None, current="here", name="here", namespace=None):
    context = {"cluster": name, "user": name}
    if namespace:
        context["namespace"] = namespace
    return {
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443", **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": context}],
        "current-context": current,
    }


@pytest.fixture
def written(tmp_path):
    def write(config, name="config"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(config))
        return path

    return write


def test_data_in_place_is_read(written):
    """As kubectl and the embedded server write it."""
    path = written(
        a_config(
            cluster={
                "certificate-authority-data": base64.b64encode(b"CA").decode(),
                "tls-server-name": "kube",
            },
            user={
                "client-certificate-data": base64.b64encode(b"CERT").decode(),
                "client-key-data": base64.b64encode(b"KEY").decode(),
            },
            namespace="team",
        )
    )
    found = from_kubeconfig(path)
    assert (found.server, found.authority, found.server_name) == ("https://here:6443", b"CA", "kube")
    assert (found.certificate, found.key, found.namespace) == (b"CERT", b"KEY", "team")


def test_relative_files_are_found_next_to_the_kubeconfig(written):
    """A relative path is relative to its file."""
    path = written(
        a_config(cluster={"certificate-authority": "ca.crt"}, user={"tokenFile": "token"}), "sub/config"
    )
    (path.parent / "ca.crt").write_bytes(b"CA")
    found = from_kubeconfig(path)
    assert found.authority == b"CA"
    assert found.token_file == path.parent / "token"


def test_secrets_are_not_shown(written):
    """A logged connection does not contain the token."""
    assert "s3cret" not in repr(from_kubeconfig(written(a_config(user={"token": "s3cret"}))))


def test_a_context_is_chosen_by_name_and_of_several_files_the_first_wins(written):
    """As kubectl merges $KUBECONFIG."""
    one = written(a_config(name="one", current="", user={"token": "1"}), "one")
    two = written(a_config(name="two", current="two", user={"token": "2"}), "two")
    shadowed = written(a_config(name="one", current="one", user={"token": "shadowed"}), "three")
    files = [one, two, shadowed]
    assert from_kubeconfig(files).token == "2"  # noqa: S105
    assert from_kubeconfig(files, "one").token == "1"  # noqa: S105
    listed = os.pathsep.join(map(str, [*files, one.with_name("missing")]))
    assert default(environ={"KUBECONFIG": listed}).token == "2"  # noqa: S105


def test_the_named_file_comes_before_the_environment_and_that_before_home(written, tmp_path):
    """Explicit, $KUBECONFIG, ~/.kube/config."""
    named = written(a_config(user={"token": "named"}), "named")
    listed = written(a_config(user={"token": "listed"}), "listed")
    written(a_config(user={"token": "home"}), ".kube/config")
    environ = {"KUBECONFIG": str(listed), "HOME": str(tmp_path)}
    assert default(named, environ=environ).token == "named"  # noqa: S105
    assert default(environ=environ).token == "listed"  # noqa: S105
    assert default(environ={"HOME": str(tmp_path)}).token == "home"  # noqa: S105


def test_a_pod_uses_its_service_account(tmp_path):
    """Also over IPv6."""
    for name, text in (("token", "t"), ("ca.crt", "CA"), ("namespace", "team\n")):
        (tmp_path / name).write_text(text)
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    found = in_cluster(environ=environ, directory=tmp_path)
    assert (found.server, found.authority, found.namespace) == ("https://[fd00::1]:6443", b"CA", "team")
    assert found.token_file == tmp_path / "token"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param(a_config(current=""), "no current context.*here", id="no-context"),
        pytest.param(a_config(current="there"), "no context 'there'.*here", id="unknown-context"),
        pytest.param(a_config(cluster={"server": ""}), "no server", id="no-server"),
        pytest.param(
            a_config(user={"client-key-data": "S0VZ"}), "both a client certificate and a key", id="key-alone"
        ),
        pytest.param(
            a_config(cluster={"certificate-authority-data": "%"}),
            "certificate-authority-data",
            id="not-base64",
        ),
        pytest.param(a_config(cluster={"certificate-authority": "none.crt"}), "none.crt", id="missing-file"),
        pytest.param([], "not a kubeconfig", id="not-a-kubeconfig"),
    ],
)
def test_the_error_names_the_problem(written, config, message):
    """With what there is instead."""
    with pytest.raises(NoConnection, match=message):
        from_kubeconfig(written(config))


def test_nothing_to_connect_to_says_what_to_do(tmp_path):
    """The three ways are named."""
    with pytest.raises(NoConnection, match="--kubeconfig"):
        default(environ={"HOME": str(tmp_path)})
    with pytest.raises(NoConnection, match="missing"):
        default(tmp_path / "missing", environ={})


@pytest.mark.parametrize("plugin", ["exec", "auth-provider"])
def test_a_user_of_a_plugin_needs_the_official_client(written, monkeypatch, plugin):
    """The message says what to install."""
    monkeypatch.setitem(sys.modules, "kubernetes.config", None)
    with pytest.raises(NoConnection, match=r"pip install jangar\[cluster\]"):
        from_kubeconfig(written(a_config(user={plugin: {"command": "aws"}})))
