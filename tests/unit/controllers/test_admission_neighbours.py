"""Whose step a run is, for the bindings of an Orchestration: an owner reference alone proves nothing."""

import pytest

from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.security import SECRET_BINDING
from jangar.controllers.admission.surroundings import NAMED, Neighbours
from jangar.controllers.resources import ATTEMPT, STEP, resource_of
from jangar.domain.orchestration.child_names import child_name
from jangar.kube.cache import Cached
from jangar.kube.client import Client
from jangar.kube.informer import Informer
from jangar.kube.namespaces import Namespaces
from support.answering_transport import AnsweringTransport

UID = "run-uid"


def an_object(name, spec, **metadata):
    meta = {"name": name, "namespace": "team", "uid": name, "resourceVersion": "1", **metadata}
    return {"metadata": meta, "spec": spec}


def neighbours():
    client = Client(AnsweringTransport(), manager="test")
    informers = {
        kind.name: Informer(client, resource_of(kind), namespaces=Namespaces.every())
        for kind in (*NAMED, ORCHESTRATION_RUN)
    }
    runs = informers.pop(ORCHESTRATION_RUN.name)
    runs.cache.note_written(an_object("nightly", {"orchestrationRef": {"name": "o"}}, uid=UID))
    binding = {"subjects": [{"kind": "Orchestration", "name": "o"}], "allowedSecrets": ["token"]}
    informers[SECRET_BINDING.name].cache.note_written(an_object("b", binding))
    return Neighbours(informers=informers, runs=runs)


def a_child(name, owner_uid=UID, step="build", attempt="1"):
    owner = {
        "apiVersion": "x",
        "kind": "OrchestrationRun",
        "name": "nightly",
        "uid": owner_uid,
        "controller": True,
    }
    return Cached.of(
        an_object(
            name,
            {"agentRef": {"name": "coder"}, "runtime": {"type": "job"}},
            ownerReferences=[owner],
            labels={STEP: step, ATTEMPT: attempt},
        )
    )


PROVEN = child_name("nightly", UID, "build", 1)


@pytest.mark.parametrize(
    ("child", "bound"),
    [
        pytest.param(a_child(PROVEN), {"token"}, id="the-step's-own-name"),
        pytest.param(a_child("anything"), set(), id="any-other-name"),
        pytest.param(a_child(PROVEN, owner_uid="other"), set(), id="another-run-of-that-name"),
        pytest.param(a_child(PROVEN, step="test"), set(), id="another-step"),
        pytest.param(a_child(PROVEN, attempt="one"), set(), id="no-attempt"),
    ],
)
def test_only_the_child_that_a_run_makes_has_the_bindings_of_its_orchestration(child, bound):
    """Anybody can write an owner reference and labels; the name that follows from them must fit, too."""
    assert neighbours().ask(child).bound_secrets == bound


def test_what_was_asked_is_read_again_when_a_neighbour_changed():
    """The version that answers are remembered by grows."""
    made = neighbours()
    before = made.version
    made.informers[SECRET_BINDING.name].cache.note_written(an_object("c", {}))
    assert made.version == before + 1
