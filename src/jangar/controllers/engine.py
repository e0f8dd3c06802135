"""Runs the registered controllers: builds their informers, starts them, and gives and withdraws their authority."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from functools import partial

from jangar.controllers.admission.admission import Admission
from jangar.controllers.engine_settings import EngineSettings
from jangar.controllers.history.keeper import HistoryKeeper
from jangar.controllers.informers import CHILD_PODS, Informers
from jangar.controllers.log_tails import LogTails
from jangar.controllers.object_writes import ObjectWrites
from jangar.controllers.observers import NO_OBSERVERS, Observers
from jangar.controllers.quarantine import quarantine_of
from jangar.controllers.registration import ControllerContext, Registration
from jangar.controllers.registry import registrations
from jangar.controllers.status_writer import StatusWriter
from jangar.domain.orchestration.definition import ConditionCompiler
from jangar.store.history import History
from kubekit.client.api_client import Client
from kubekit.controller.controller import Authority, Controller
from kubekit.controller.manager import Manager
from kubekit.controller.reconcile import Key
from kubekit.controller.urgent_work import UrgentWorkGate
from kubekit.events.event_recorder import EventRecorder


class Engine:
    """The controllers of one process, and what they share."""

    def __init__(  # noqa: PLR0913 - what a process decides about its controllers
        self,
        client: Client,
        settings: EngineSettings,
        *,
        compile_condition: ConditionCompiler,
        compile_loop: ConditionCompiler,
        recorder: EventRecorder,
        now: Callable[[], datetime],
        may_act: Authority | None = None,
        urgent_work: UrgentWorkGate | None = None,
        observers: Observers = NO_OBSERVERS,
        open_history: Callable[[], Awaitable[History]] | None = None,
        controllers: Sequence[Registration] | None = None,
    ) -> None:
        """`controllers` are the registrations to run, by default all."""
        enabled = [item for item in controllers or registrations() if item.is_enabled(settings)]
        informers = Informers(
            client,
            settings,
            [
                watch.source
                for registration in enabled
                for watch in registration.watches
                if watch.is_enabled(settings)
            ],
        )
        writer = StatusWriter(client)
        logs = _log_tails(client, settings, informers, now)
        self._context = context = ControllerContext(
            client=client,
            settings=settings,
            informers=informers,
            writer=writer,
            writes=ObjectWrites(client),
            recorder=recorder,
            observers=observers,
            now=now,
            compile_condition=compile_condition,
            compile_loop=compile_loop,
            logs=logs,
            history=_history(open_history, client, settings, recorder, logs) if open_history else None,
            admission=Admission(client, settings.admission, informers=informers, writer=writer, now=now)
            if settings.admission
            else None,
        )
        self.controllers: list[Controller] = []
        self._invalidate: list[Callable[[], None]] = []
        urgent_work = urgent_work or UrgentWorkGate()
        for registration in enabled:
            self._add(registration, context, may_act, urgent_work)

    @property
    def history(self) -> HistoryKeeper | None:
        """What stores ended runs, if there is a database."""
        return self._context.history

    def _add(
        self,
        registration: Registration,
        context: ControllerContext,
        may_act: Authority | None,
        urgent_work: UrgentWorkGate,
    ) -> None:
        reconciliation = registration.reconciler(context)
        own = context.informers[registration.own]
        if registration.single_key is None:
            controller = Controller(
                registration.name,
                reconciliation.reconcile,
                workers=context.settings.workers,
                may_act=_within(registration, context.settings, may_act),
                urgent_work=urgent_work,
                quarantine=quarantine_of(own, context.client, context.now),
            )
        else:
            controller = Controller(registration.name, reconciliation.reconcile, workers=1, may_act=may_act)
        for watch in registration.watches:
            if watch.is_enabled(context.settings):
                controller.watch(
                    context.informers[watch.source],
                    watch.keys(own.cache),
                    where=watch.where,
                    after=watch.delay,
                    first=watch.is_urgent,
                )
        self.controllers.append(controller)
        if reconciliation.forget is not None:
            self._invalidate.append(reconciliation.forget)
        if registration.single_key is not None:
            self._invalidate.append(partial(controller.enqueue, registration.single_key))
        if registration.stores_history and context.history is not None:
            context.history.follow(own, wake=controller.enqueue, may_act=controller.may_act)

    def join(self, manager: Manager) -> None:
        """Add the informers, the controllers and their services to the manager, which runs them."""
        for name, informer in self._context.informers.required.items():
            manager.add_informer(name, informer)
        for name, informer in self._context.informers.optional.items():
            manager.add_service(name, informer.run)
        for controller in self.controllers:
            manager.add_controller(controller)
        if self.history is not None:
            manager.add_service("history", self.history.run)
        retention = self._context.settings.log_retention.duration
        if self._context.logs is not None and retention is not None:
            manager.add_service("log-tails", partial(self._context.logs.tidy, retention))

    def authority_gained(self) -> None:
        """Reconcile every object: this process now acts on more of them."""
        self.invalidate_memory()
        if self.history is not None:
            self.history.resync()
        for controller in self.controllers:
            controller.enqueue_all()

    def invalidate_memory(self) -> None:
        """Forget what was remembered between passes: other processes may have acted."""
        for invalidate in self._invalidate:
            invalidate()

    def authority_lost(self, may_go_on: Authority | None = None) -> None:
        """End the passes for keys on which another process may now act, except those that `may_go_on`."""
        for controller in self.controllers:
            controller.abandon_lost(may_go_on)

    def keys_in_progress(self) -> Iterator[Key]:
        """The keys that are being reconciled."""
        for controller in self.controllers:
            yield from controller.keys_in_progress


def _within(registration: Registration, settings: EngineSettings, may_act: Authority | None) -> Authority:
    """Authority over the objects in the registration's namespaces."""
    namespaces = registration.namespaces(settings)

    def authority(key: Key) -> bool:
        return key.namespace in namespaces and (may_act is None or may_act(key))

    return authority


def _log_tails(
    client: Client, settings: EngineSettings, informers: Informers, now: Callable[[], datetime]
) -> LogTails | None:
    if settings.data_dir is None:
        return None
    return LogTails(client, settings.data_dir / "log-tails", now, pods=informers.cache(CHILD_PODS))


def _history(
    open_history: Callable[[], Awaitable[History]],
    client: Client,
    settings: EngineSettings,
    recorder: EventRecorder,
    logs: LogTails | None,
) -> HistoryKeeper:
    keeper = HistoryKeeper(
        open_history=open_history,
        client=client,
        recorder=recorder,
        logs=logs,
        log_retention=settings.log_retention.duration,
        retention=settings.history_retention.duration,
    )
    if logs is not None:
        logs.on_kept = keeper.tail_kept
    return keeper
