"""Random histories of writes and failures: the cache ends equal to the server, and the changes are consistent."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from kubekit.cache.informer import Informer, Pace
from kubekit.cache.namespaces import Namespaces
from kubekit.cache.object_cache import OWNER_UID, label_index
from kubekit.client.api_client import Client
from kubekit.client.errors import Ambiguous, Expired, NotSent, ServerFailure, TooManyRequests
from support.scripted_api import THINGS, CutAfter, DeadAfter, ScriptedApi
from support.virtual_time import run_virtual

NAMES = st.sampled_from(["a", "b"])
PLACES = st.sampled_from(["one", "two"])
FAULTS = st.sampled_from(
    [
        CutAfter(0),
        CutAfter(1),
        CutAfter(2),
        DeadAfter(0),
        DeadAfter(1),
        NotSent("refused"),
        Ambiguous("reset"),
        ServerFailure("broken", status=500),
        TooManyRequests("busy", status=429, retry_after=2),
        Expired("old", status=410),
    ]
)
STEPS = st.one_of(
    st.tuples(st.sampled_from(["put", "remove", "late answer"]), NAMES, PLACES),
    st.tuples(st.sampled_from(["own put", "own remove"]), NAMES, PLACES),
    st.tuples(st.just("fault"), FAULTS),
    st.tuples(st.just("forget")),
    st.tuples(st.just("wait"), st.sampled_from([0.0005, 0.01, 1.0, 40.0, 150.0])),
)


class Story:
    """Every change must continue where the last one of the same object ended."""

    def __init__(self):
        self.known = {}

    def on_change(self, change):
        subject = change.subject
        key = subject.namespace, subject.name
        assert self.known.get(key) == change.old
        match change.kind:
            case "added":
                assert change.old is None
                self.known[key] = change.new
            case "changed":
                assert change.new.uid == change.old.uid
                assert int(change.new.resource_version) > int(change.old.resource_version)
                self.known[key] = change.new
            case "deleted":
                assert change.new is None
                del self.known[key]


async def take(step, api, cache, answers):
    match step:
        case ("put", name, place):
            answers.append(_put(api, name, place))
        case ("own put", name, place):
            cache.record_write(_put(api, name, place))
        case ("late answer", *_) if answers:
            cache.record_write(answers.pop(0))
        case ("remove", name, place) if (place, name) in api.objects:
            api.remove(name, place)
        case ("own remove", name, place) if (place, name) in api.objects:
            uid = api.objects[place, name]["metadata"]["uid"]
            api.remove(name, place)
            cache.record_delete(place, name, uid)
        case ("fault", fault):
            api.faults.append(fault)
        case ("forget",):
            api.forget()
        case ("wait", seconds):
            await asyncio.sleep(seconds)


async def play(steps, namespaces, failures):
    api = ScriptedApi()
    informer = Informer(
        Client(api, manager="test"),
        THINGS,
        namespaces=Namespaces.parse(namespaces),
        indexes={"team": label_index("team")},
        random=lambda: 0.3,
        pace=Pace(page_size=2),
    )
    story = Story()
    informer.cache._report = failures.append
    informer.subscribe(story.on_change)
    running = asyncio.create_task(informer.run())
    answers = []
    for step in steps:
        await take(step, api, informer.cache, answers)
    api.faults.clear()
    await asyncio.sleep(400)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    cached = {(item.namespace, item.name): item.resource_version for item in informer.cache.all()}
    assert cached == api.versions()
    assert len(informer.cache) == len(cached)
    assert {key: item.resource_version for key, item in story.known.items()} == cached
    assert not informer.cache._departing
    for index, keys in ((OWNER_UID, ("owner-a", "owner-b", "owner-c")), ("team", ("one", "two"))):
        found = [item for key in keys for item in informer.cache.by(index, key)]
        assert sorted((item.namespace, item.name) for item in found) == sorted(cached)
    assert api.open_streams == 0


def _put(api, name, place):
    owner = {"uid": f"owner-{name}", "kind": "Owner", "name": name, "apiVersion": "v1"}
    return api.put(name, place, labels={"team": place}, ownerReferences=[owner])


@given(st.lists(STEPS, min_size=5, max_size=60), st.sampled_from(["*", "one,two"]))
@settings(max_examples=200, deadline=None)
def test_whatever_happens_the_cache_ends_true(steps, namespaces):
    """Writes by others and by ourselves, late answers, cuts, silence, refusals and compactions in any order."""
    failures = []
    run_virtual(play(steps, namespaces, failures))
    assert failures == []
