"""What a cache keeps of an object, and how the newest is found among what came by different roads."""

import gc
import sys

import pytest

from kubekit.cache.object_cache import NAMESPACE, OWNER_UID, Cache, Cached, Change, label_index


def an_object(name="a", version=1, *, namespace="default", uid=None, owner=None, labels=None, **metadata):
    references = (
        [{"uid": owner, "kind": "Run", "name": "r", "controller": True, "apiVersion": "x/v1"}]
        if owner
        else []
    )
    return {
        "apiVersion": "v1",
        "kind": "Thing",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-{name}",
            "resourceVersion": str(version),
            "ownerReferences": references,
            "labels": labels or {},
            **metadata,
        },
        "spec": {"size": 1},
    }


def cached(*named, **given):
    return Cached.of(an_object(*named, **given))


@pytest.fixture
def reported():
    return []


@pytest.fixture
def cache(reported):
    made = Cache({"team": label_index("team")}, report=_raise)
    made.subscribe(lambda change: reported.append((change.kind, change.subject.name, _version(change))))
    return made


def _raise(error):
    raise error


def _version(change: Change):
    return int(change.subject.resource_version)


def test_metadata_is_typed_and_the_rest_is_bytes():
    """Decisions need no decoding."""
    obj = an_object(
        "a",
        7,
        owner="o",
        labels={"team": "blue"},
        generation=3,
        finalizers=["x/y"],
        deletionTimestamp="2026-01-01T00:00:00Z",
        creationTimestamp="2025-01-01T00:00:00Z",
        annotations={"note": "n"},
    )
    found = Cached.of(obj)
    assert (found.namespace, found.name, found.uid, found.resource_version) == ("default", "a", "uid-a", "7")
    assert (found.generation, found.finalizers, found.labels) == (3, ("x/y",), {"team": "blue"})
    assert found.owners[0]._asdict() == {
        "uid": "o",
        "kind": "Run",
        "name": "r",
        "controller": True,
        "api_version": "x/v1",
    }
    assert found.controller == found.owners[0]
    assert found.is_being_deleted
    assert found.creation_timestamp == "2025-01-01T00:00:00Z"
    assert found.annotations == {"note": "n"}
    assert found.decode() == obj


def test_a_decoded_object_is_the_callers():
    """Changing one copy changes no other."""
    found = cached()
    found.decode()["spec"]["size"] = 2
    assert found.decode()["spec"]["size"] == 1


def test_managed_fields_are_left_out_and_the_given_object_is_left_alone():
    """They are a third of an object, and the caller still has them."""
    obj = an_object(managedFields=[{"manager": "kubectl"}])
    assert "managedFields" not in Cached.of(obj).decode()["metadata"]
    assert obj["metadata"]["managedFields"] == [{"manager": "kubectl"}]


def test_objects_without_a_namespace_have_the_empty_one():
    """Kinds of the whole cluster live in one place."""
    found = Cached.of({"metadata": {"name": "node-1", "uid": "u", "resourceVersion": "1"}})
    assert found.namespace == ""
    assert found.deletion_timestamp is None


def test_ten_thousand_objects_of_two_kilobytes_fit_in_45_megabytes():
    """The bytes dominate; the overhead is small."""
    spec = {f"field-{number}": "x" * 40 for number in range(33)}
    made = Cache({"team": label_index("team")}, report=_raise)
    for number in range(2000):
        labels = {"team": f"team-{number % 20}", "app": "jangar", "run": f"run-{number % 100}"}
        obj = an_object(f"thing-{number}", number + 1, owner=f"owner-{number % 100}", labels=labels)
        made.upsert(Cached.of({**obj, "spec": spec}))
    assert len(made.all()[0].raw) > 1900
    assert _bytes_of(made) / len(made) * 10_000 <= 45e6


def _bytes_of(root):
    seen, size, todo = set(), 0, [root]
    while todo:
        each = todo.pop()
        if id(each) in seen or isinstance(each, type) or callable(each):
            continue
        seen.add(id(each))
        size += sys.getsizeof(each)
        todo += gc.get_referents(each)
    return size


def test_the_newer_wins_whatever_road_it_came(cache, reported):
    """An older event never overwrites an own write; the same version is no change."""
    cache.upsert(cached("a", 1))
    cache.record_write(an_object("a", 5))
    for late in (2, 3, 5):
        cache.upsert(cached("a", late))
        assert cache.get("default", "a").resource_version == "5"
    cache.upsert(cached("a", 10))
    assert reported == [("added", "a", 1), ("changed", "a", 5), ("changed", "a", 10)]


def test_versions_are_compared_as_numbers(cache):
    """9 is before 10."""
    cache.upsert(cached("a", 9))
    cache.record_write(an_object("a", 10))
    assert cache.get("default", "a").resource_version == "10"


def test_an_end_older_than_what_was_written_since_is_not_the_end(cache, reported):
    """Deleted, recreated by us, and only then the watch reports the deletion."""
    cache.upsert(cached("a", 1, uid="first"))
    cache.record_write(an_object("a", 5, uid="second"))
    cache.remove_observed(cached("a", 3, uid="first"))
    assert cache.get("default", "a").uid == "second"
    assert reported == [("added", "a", 1), ("deleted", "a", 1), ("added", "a", 5)]


def test_after_an_own_delete_its_last_events_are_passed_over(cache, reported):
    """What we saw end does not come back for a moment because the watch is behind."""
    cache.upsert(cached("a", 1))
    cache.record_delete("default", "a", "uid-a")
    cache.upsert(cached("a", 2))
    cache.record_write(an_object("a", 3))
    assert cache.get("default", "a") is None
    cache.remove_observed(cached("a", 4))
    cache.upsert(cached("a", 5, uid="second"))
    assert reported == [("added", "a", 1), ("deleted", "a", 1), ("added", "a", 5)]


def test_own_deletes_are_forgotten_when_the_watch_has_reported_them(cache):
    """Also if a list reports the deletion; what the list still shows is waited for."""
    for number, name in enumerate(("told", "listed", "not-listed", "elsewhere")):
        place = "other" if name == "elsewhere" else "default"
        cache.upsert(cached(name, number + 1, namespace=place))
        cache.record_delete(place, name, f"uid-{name}")
    cache.remove_observed(cached("told", 5))
    cache.replace("default", [cached("listed", 2)], "6")
    assert sorted(cache._departing) == ["uid-elsewhere", "uid-listed"]
    assert len(cache) == 0


def test_an_own_delete_of_another_uid_is_nothing(cache):
    """The answer was about an object that is already replaced."""
    cache.upsert(cached("a", 1, uid="second"))
    cache.record_delete("default", "a", "first")
    assert cache.get("default", "a").uid == "second"


def test_what_was_written_after_a_list_was_made_outlives_the_list(cache):
    """A list that is slow to arrive does not know the newest."""
    cache.record_write(an_object("new", 9))
    cache.upsert(cached("old", 2))
    cache.replace("", [cached("b", 4)], "5")
    assert sorted(item.name for item in cache.all()) == ["b", "new"]


def test_a_list_of_one_namespace_says_nothing_of_others(cache):
    """Each namespace has its own list."""
    cache.upsert(cached("a", 1, namespace="one"))
    cache.upsert(cached("b", 2, namespace="two"))
    cache.replace("one", [], "5")
    assert [item.name for item in cache.all()] == ["b"]


def test_indexes_follow_every_change(cache):
    """Moved, changed, gone: found under the keys of now and no other."""
    cache.upsert(cached("a", 1, owner="o1", labels={"team": "blue"}))
    cache.upsert(cached("b", 2, owner="o1", labels={"team": "red"}))
    cache.upsert(cached("a", 3, owner="o2", labels={}))
    assert [item.name for item in cache.by(OWNER_UID, "o1")] == ["b"]
    assert [item.resource_version for item in cache.by(OWNER_UID, "o2")] == ["3"]
    assert cache.by("team", "blue") == []
    cache.upsert(cached("b", 4, owner="o1", labels={"team": "red"}))
    assert [item.resource_version for item in cache.by("team", "red")] == ["4"]
    cache.remove_observed(cached("b", 5))
    assert cache.by("team", "red") == []
    assert cache._indexes["team"]._by_key == {}


def test_a_recreated_object_is_indexed_once(cache):
    """The uid of the old one is not left behind."""
    cache.upsert(cached("a", 1, uid="first", owner="o"))
    cache.upsert(cached("a", 2, uid="second", owner="o"))
    assert [item.uid for item in cache.by(OWNER_UID, "o")] == ["second"]
    assert len(cache) == 1


def test_namespaces_are_an_index_of_every_cache(cache):
    """Also of caches that were given none."""
    cache.upsert(cached("a", 1, namespace="one"))
    cache.upsert(cached("b", 2, namespace="two"))
    assert [item.name for item in cache.by(NAMESPACE, "two")] == ["b"]
    assert [item.name for item in cache.all("one")] == ["a"]


def test_an_unknown_index_is_a_mistake(cache):
    """Not an empty answer."""
    with pytest.raises(KeyError):
        cache.by("nothing", "x")


def test_answers_are_snapshots(cache):
    """A list in hand does not change under its reader."""
    cache.upsert(cached("a", 1))
    before = cache.all()
    cache.upsert(cached("b", 2))
    assert [item.name for item in before] == ["a"]
