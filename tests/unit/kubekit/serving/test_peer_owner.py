"""Whose process is at the other end of a connection."""

import os
import socket
import subprocess
import sys

import pytest

from jangar.server.http.guards import PEER_UID, is_foreign_user
from kubekit.serving.peer_owner import peer_uid

CONNECT = (
    "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); sys.stdin.read()"
)
is_linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's table of sockets is Linux's")


@is_linux
def test_our_own_end_is_ours():
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as client:
        client.connect(listener.getsockname())
        accepted, address = listener.accept()
        with accepted:
            assert peer_uid(address, listener.getsockname()) == os.geteuid()
    assert peer_uid(("192.0.2.1", 1), ("127.0.0.1", 2)) is None
    assert peer_uid(None, ("127.0.0.1", 2)) is None


@is_linux
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to start a process of another user")
def test_another_user_is_known():
    """E15: a cookie that a browser sent to another user's port is worth nothing in that user's hands."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with subprocess.Popen(
            [
                *("setpriv", "--reuid=54323", "--clear-groups"),
                *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
                *(sys.executable, "-c", CONNECT, str(port)),
            ],
            stdin=subprocess.PIPE,
        ) as stranger:
            listener.settimeout(60)
            accepted, address = listener.accept()
            with accepted:
                assert peer_uid(address, ("127.0.0.1", port)) == 54_323
            stranger.communicate(timeout=60)


@pytest.mark.parametrize(
    ("uid", "is_foreign"), [(os.geteuid(), False), (0, False), (54_323, True), (None, False)]
)
def test_only_another_user_is_a_stranger(uid, is_foreign):
    """Where the kernel does not tell, the session counts as before."""
    assert is_foreign_user({"extensions": {PEER_UID: {"read": lambda: uid}}}) is is_foreign
    assert not is_foreign_user({})
