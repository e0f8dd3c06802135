"""Controllers are values in one table: complete, distinct, and each with the rights that it needs."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

import jangar.controllers
from jangar.api.agents.memory import MEMORY
from jangar.controllers.engine import Engine
from jangar.controllers.engine_settings import EngineSettings
from jangar.controllers.informers import RUNS, TOOLS
from jangar.controllers.registration import Reconciliation, Registration, Watch, updates_status
from jangar.controllers.registry import registrations
from jangar.controllers.resources import kind_of, resource_of
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client
from kubekit.controller.manager import Manager
from kubekit.controller.reconcile import DONE, Key
from support.answering_transport import AnsweringTransport
from support.work_world import NOON

BY_NAME = {registration.name: registration for registration in registrations()}
HERE = Namespaces.of("team")


def a_registration(**fields):
    async def reconcile(_):
        return DONE

    defaults = {
        "name": "memory",
        "own": TOOLS,
        "watches": (Watch(source=TOOLS),),
        "reconciler": lambda _: Reconciliation(reconcile=reconcile),
        "rules": (updates_status(MEMORY),),
        "namespaces": lambda settings: settings.supporting,
    }
    return Registration(**defaults | fields)


def an_engine(*controllers, may_act=None, **settings):
    return Engine(
        Client(AnsweringTransport(), manager="test"),
        EngineSettings(orchestrations=HERE, supporting=HERE, **settings),
        compile_condition=lambda _: None,
        compile_loop=lambda _: None,
        recorder=None,
        now=lambda: NOON,
        may_act=may_act,
        controllers=controllers,
    )


def test_names_are_unique():
    """A name is the label of a queue in metrics."""
    assert [name for name, count in Counter(item.name for item in registrations()).items() if count > 1] == []


@pytest.mark.parametrize("name", BY_NAME)
def test_a_controller_reconciles_what_it_watches_and_may_write_its_status(name):
    """Without the watch it would never run; without the right it could report nothing."""
    registration = BY_NAME[name]
    resource = registration.own.resource
    assert registration.own in [watch.source for watch in registration.watches]
    granted = {
        (rule.group, resource, verb)
        for rule in registration.granted
        for resource in rule.resources
        for verb in rule.verbs
    }
    assert {(resource.group, resource.plural, verb) for verb in ("get", "list", "watch")} <= granted
    assert (kind_of(resource).group, f"{resource.plural}/status", "patch") in granted


def test_a_controller_without_declared_rights_is_rejected():
    """It would fail at its first write, on a cluster."""
    with pytest.raises(ValueError, match="controller memory declares no rules"):
        a_registration(rules=())


def test_a_controller_that_watches_nothing_is_rejected():
    """It would never run."""
    with pytest.raises(ValueError, match="controller memory watches nothing"):
        a_registration(watches=())


def test_every_folder_with_a_registration_is_in_the_table():
    """A controller that is not registered does not run."""
    root = Path(jangar.controllers.__path__[0])
    text = (root / "registry.py").read_text()
    modules = [*root.glob("*/controller.py"), *root.glob("*/controllers.py")]
    registered = [path for path in modules if ": Final = Registration(" in path.read_text()]
    assert registered
    assert [
        path for path in registered if f"jangar.controllers.{path.parent.name}.{path.stem}" not in text
    ] == []


def test_an_engine_runs_the_controllers_that_it_is_given():
    """One informer for each source, shared by all watches of it; a delay or predicate is a watch's own."""
    manager = Manager()
    engine = an_engine(
        a_registration(name="one"),
        a_registration(name="two", watches=(Watch(source=RUNS),) * 2 + (Watch(source=TOOLS),)),
    )
    engine.join(manager)
    assert [controller.name for controller in engine.controllers] == ["one", "two"]
    assert sorted(manager.informers) == ["orchestrationruns", "tools"]
    assert engine.controllers[0].informers[0] is engine.controllers[1].informers[1]
    assert manager.informers["tools"].resource == resource_of(kind_of(TOOLS.resource))


def test_disabled_controllers_have_no_informers():
    """Without namespaces for agents, nothing of theirs is listed."""
    manager = Manager()
    an_engine().join(manager)
    assert "agentruns" not in manager.informers
    assert "agent" not in [controller.name for controller in manager.controllers]


def test_authority_is_limited_to_the_namespaces_of_a_controller():
    """And to what the process may act on."""
    engine = an_engine(a_registration(), may_act=lambda key: key.name != "other")
    (controller,) = engine.controllers
    keys = [Key("team", "mine"), Key("team", "other"), Key("elsewhere", "mine")]
    assert [controller.may_act(key) for key in keys] == [True, False, False]


def test_gained_authority_invalidates_memory():
    """Another process may have acted meanwhile; a single key is reconciled even without a change."""
    forgotten = []

    async def reconcile(_):
        return DONE

    registration = a_registration(
        reconciler=lambda _: Reconciliation(reconcile=reconcile, forget=lambda: forgotten.append(True)),
        single_key=Key("", "all"),
    )
    engine = an_engine(registration)

    async def gain():
        engine.authority_gained()

    asyncio.run(gain())
    assert forgotten == [True]
    assert len(engine.controllers[0].queue) == 1
