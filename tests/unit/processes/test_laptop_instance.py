"""One process per data directory, enforced by a lock; and the default location of the directory."""

import os
from pathlib import Path

import pytest

from jangar.processes.data_directory import AlreadyUp, DataDirectory, Instance, hold_directory, instance_of


@pytest.fixture
def place(tmp_path):
    return DataDirectory(tmp_path / "data")


def test_a_missing_directory_has_no_instance(place):
    """Checking does not create it."""
    assert instance_of(place) is None
    assert not place.directory.exists()


def test_the_holder_is_found_with_what_it_published(place):
    """Before it published anything, only its pid is known."""
    with hold_directory(place) as lock:
        assert instance_of(place) == Instance(pid=os.getpid())
        instance = Instance(pid=os.getpid(), server="https://127.0.0.1:1", version="1")
        lock.publish(instance)
        assert instance_of(place) == instance
        assert instance_of(place).is_ready
    assert instance_of(place) is None


def test_a_second_holder_is_rejected(place):
    """The error names the first."""
    with hold_directory(place), pytest.raises(AlreadyUp, match=str(os.getpid())), hold_directory(place):
        pass


def test_the_file_of_a_killed_process_is_ignored(place):
    """The kernel released its lock."""
    with hold_directory(place) as lock:
        lock.publish(Instance(pid=1, server="https://old"))
        assert instance_of(place) == Instance(pid=os.getpid())


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({"HOME": "/h"}, "/h/.local/share/jangar"),
        ({"HOME": "/h", "XDG_DATA_HOME": "/x"}, "/x/jangar"),
        ({"HOME": "/h", "XDG_DATA_HOME": "relative"}, "/h/.local/share/jangar"),
    ],
)
def test_the_data_directory_is_where_xdg_says(environment, found):
    """A relative path is ignored, as the specification demands."""
    assert DataDirectory.of(None, environment).directory == Path(found)
    assert DataDirectory.of(Path("/own"), environment).directory == Path("/own")
