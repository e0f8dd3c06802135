"""One process to a data directory, known by a lock; and the directory's place."""

import os
from pathlib import Path

import pytest

from jangar.processes.data_directory import DataDirectory
from jangar.processes.laptop_instance import AlreadyUp, Instance, holding, instance_of


@pytest.fixture
def place(tmp_path):
    return DataDirectory(tmp_path / "data")


def test_nobody_holds_a_directory_that_is_not_there(place):
    """Looking makes nothing."""
    assert instance_of(place) is None
    assert not place.directory.exists()


def test_the_holder_is_known_by_what_it_told(place):
    """Before it told anything, by its pid."""
    with holding(place) as held:
        assert instance_of(place) == Instance(pid=os.getpid())
        told = Instance(pid=os.getpid(), server="https://127.0.0.1:1", version="1")
        held.tell(told)
        assert instance_of(place) == told
        assert instance_of(place).is_ready
    assert instance_of(place) is None


def test_a_second_holder_is_refused(place):
    """And told who the first is."""
    with holding(place), pytest.raises(AlreadyUp, match=str(os.getpid())), holding(place):
        pass


def test_what_a_killed_process_left_behind_does_not_count(place):
    """Its lock went with it."""
    with holding(place) as held:
        held.tell(Instance(pid=1, server="https://old"))
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
