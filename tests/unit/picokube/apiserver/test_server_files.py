"""Certificates and the kubeconfig: created once, kept private, replaced when necessary."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from picokube.apiserver.auth.certificates import LIFETIME, ensure_certificates
from picokube.apiserver.auth.kubeconfig import write_kubeconfig

NOW = datetime(2026, 2, 7, tzinfo=UTC)
HOSTS = ("127.0.0.1", "localhost")


def test_certificates_are_made_once(tmp_path):
    """The second start finds the first one's."""
    files = ensure_certificates(tmp_path, HOSTS, now=NOW)
    before = [path.read_bytes() for path in files]
    assert [path.read_bytes() for path in ensure_certificates(tmp_path, HOSTS, now=NOW)] == before
    assert files.key.stat().st_mode & 0o077 == 0
    context = ssl.create_default_context(cafile=files.authority)
    context.load_verify_locations(files.authority)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.certificate, files.key)


@pytest.mark.parametrize(
    ("hosts", "now"),
    [
        pytest.param((*HOSTS, "10.0.0.1"), NOW, id="another-host"),
        pytest.param(HOSTS, NOW + LIFETIME - timedelta(days=29), id="about-to-expire"),
    ],
)
def test_unusable_certificates_are_replaced(tmp_path, hosts, now):
    """For other hosts, and before they expire."""
    first = ensure_certificates(tmp_path, HOSTS, now=NOW).certificate.read_bytes()
    assert ensure_certificates(tmp_path, hosts, now=now).certificate.read_bytes() != first


def test_the_kubeconfig_is_for_its_owner_alone(tmp_path):
    """It holds a token."""
    path = tmp_path / "deep" / "kubeconfig"
    authority = tmp_path / "ca.crt"
    authority.write_text("CA")
    write_kubeconfig(
        path,
        server="https://127.0.0.1:1",
        token="secret",  # noqa: S106
        authority=authority,
        directory=tmp_path,
    )
    assert path.stat().st_mode & 0o077 == 0
    found = yaml.safe_load(path.read_text())
    assert found["current-context"] == "jangar"
    assert found["clusters"][0]["cluster"] == {
        "server": "https://127.0.0.1:1",
        "certificate-authority-data": "Q0E=",
        "extensions": [{"name": "jangar", "extension": {"dataDirectory": str(tmp_path)}}],
    }
    assert found["users"][0]["user"] == {"token": "secret"}
    assert [item.name for item in path.parent.iterdir()] == ["kubeconfig"]


def test_a_server_without_tls_has_no_authority(tmp_path):
    """Then there is nothing to trust."""
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, server="http://127.0.0.1:1", token="t", authority=None, directory=tmp_path)  # noqa: S106
    cluster = yaml.safe_load(path.read_text())["clusters"][0]["cluster"]
    assert cluster["server"] == "http://127.0.0.1:1"
    assert "certificate-authority-data" not in cluster
