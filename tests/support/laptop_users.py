"""The users that run `jangar up` in a test: the current user, and under root also a plain user."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from picokube.nodeagent.pods.container_request import inaccessible_parent

PLAIN_USER = 1234
OPENED = """
set -e
if [ -n "$1" ]; then
  place=$(mktemp -d /var/tmp/jangar-python-XXXXXX)
  mount --bind "$2" "$place"
  mount -t tmpfs -o mode=755 tmpfs "$1"
  mkdir -p "$2"
  mount --move "$place" "$2"
fi
user=$3
shift 3
exec setpriv --reuid=$user --regid=$user --clear-groups "$@"
"""
"""Root's Python is often below a private home: here it is readable, in a mount namespace of a test."""


def laptop_users():
    """Parameters of a fixture: the command prefix of every `jangar`; none for the current user."""
    if os.geteuid() != 0:
        return [pytest.param((), id="plain")]
    closed = inaccessible_parent(sys.base_prefix) or ""
    shell = ("unshare", "--mount", "sh", "-c", OPENED, "sh")
    as_plain = (*shell, closed, os.path.realpath(sys.base_prefix), str(PLAIN_USER))
    return [pytest.param((), id="root"), pytest.param(as_plain, id="plain")]


def give_to_plain_user(home: Path, prefix: tuple[str, ...]) -> None:
    """Give the home directory to the plain user; skip if that user cannot start this installation."""
    if shutil.which("setpriv") is None or shutil.which("unshare") is None:
        pytest.skip("setpriv or unshare is missing: install util-linux")
    os.chown(home, PLAIN_USER, PLAIN_USER)
    words = [*prefix, sys.executable, "-c", "import jangar"]
    if subprocess.run(words, check=False, capture_output=True).returncode != 0:
        pytest.skip(f"user {PLAIN_USER} cannot start {sys.executable}")
