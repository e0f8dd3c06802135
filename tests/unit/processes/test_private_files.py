"""The files of a data directory are private to their owner and written atomically."""

import errno
import os
import stat

import pytest

from jangar.processes.data_directory import DATA_FILE_PREFIXES
from kubekit.private_files import NotPrivate, private_directory, write_private


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_access_of_other_users_is_removed(tmp_path):
    """The directory and our files in it; files of others keep their modes."""
    directory = tmp_path / "data"
    directory.mkdir(mode=0o755)
    for name in ("objects.db", "objects.db-wal", "tokens.json", "other.txt"):
        (directory / name).touch()
        (directory / name).chmod(0o644)
    private_directory(directory, DATA_FILE_PREFIXES)
    assert mode(directory) == 0o700
    assert {name: mode(directory / name) for name in (path.name for path in directory.iterdir())} == {
        "objects.db": 0o600,
        "objects.db-wal": 0o600,
        "tokens.json": 0o600,
        "other.txt": 0o644,
    }


def test_a_new_directory_is_private(tmp_path):
    private_directory(tmp_path / "a" / "b", DATA_FILE_PREFIXES)
    assert mode(tmp_path / "a" / "b") == 0o700


def test_a_shared_directory_with_other_files_is_refused(tmp_path):
    directory = tmp_path / "shared"
    directory.mkdir(mode=0o755)
    (directory / "notes").touch()
    with pytest.raises(NotPrivate, match="chmod 700"):
        private_directory(directory, DATA_FILE_PREFIXES)
    assert mode(directory) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused(tmp_path):
    directory = tmp_path / "theirs"
    directory.mkdir()
    os.chown(directory, 54_321, 54_321)
    with pytest.raises(NotPrivate, match="belongs to user 54321"):
        private_directory(directory, DATA_FILE_PREFIXES)


def test_a_file_is_written_atomically(tmp_path, monkeypatch):
    """A full disk leaves the old text, never an empty token."""
    path = tmp_path / "page-token"
    write_private(path, "old")
    assert mode(path) == 0o600

    def fail(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_private(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
