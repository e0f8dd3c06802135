"""The metrics of a process, in base units and with bounded labels. Knows prometheus-client, and no part it measures.

What happens is told by calls (`reconciled`, `requested`); what is, is asked when somebody reads (`watch_queue`,
`watch_informer`). Labels take controllers, kinds, verbs, codes and outcomes: never names or namespaces of objects.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SHORT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LONG = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0)
_VERBS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "WATCH"})
_OTHER = "other"
_LARGEST_CODE = 599


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReadings:
    """Questions to a controller's queue."""

    depth: Callable[[], float]
    delayed: Callable[[], float]
    oldest_age: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class InformerReadings:
    """Questions to an informer."""

    objects: Callable[[], float]
    age: Callable[[], float]
    lists: Callable[[], float]
    watches: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardReadings:
    """Questions to the shards of this process."""

    shards: Callable[[], float]
    held: Callable[[], float]
    taken: Callable[[], float]
    taken_over: Callable[[], float]
    handed_over: Callable[[], float]
    lost: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReadings:
    """Questions to what stores history."""

    pending: Callable[[], float]
    oldest_age: Callable[[], float]
    stored: Callable[[], float]
    failures: Callable[[], float]
    deleted: Callable[[], Mapping[str, float]]
    """By table."""


class Metrics:
    """All metrics of one process; nothing is registered globally."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._passes = Counter(
            "jangar_reconcile", "Passes, by how they ended.", ["controller", "result"], registry=self.registry
        )
        self._pass_seconds = Histogram(
            "jangar_reconcile_duration_seconds",
            "How long passes took.",
            ["controller"],
            buckets=_SHORT,
            registry=self.registry,
        )
        self._wait_seconds = Histogram(
            "jangar_workqueue_wait_seconds",
            "How long keys waited for a worker.",
            ["controller"],
            buckets=_SHORT,
            registry=self.registry,
        )
        self._lag_seconds = Histogram(
            "jangar_event_loop_lag_seconds",
            "How late the event loop was, asked four times a second.",
            buckets=_SHORT,
            registry=self.registry,
        )
        self._requests = Counter(
            "jangar_api_requests",
            "Requests to the Kubernetes API, by verb and status code; code 0 is no answer.",
            ["verb", "code"],
            registry=self.registry,
        )
        self._request_seconds = Histogram(
            "jangar_api_request_duration_seconds",
            "How long the Kubernetes API took to answer.",
            ["verb"],
            buckets=_SHORT,
            registry=self.registry,
        )
        self._missing = Counter(
            "jangar_workflow_job_missing",
            "Jobs that were seen and are gone without an outcome.",
            registry=self.registry,
        )
        self._expired = Counter(
            "jangar_retention_deleted",
            "Objects deleted because their time was over.",
            ["kind"],
            registry=self.registry,
        )
        self._step_seconds = Histogram(
            "jangar_step_duration_seconds",
            "How long steps took from their first start to their end, by kind and phase.",
            ["kind", "phase"],
            buckets=_LONG,
            registry=self.registry,
        )
        self._ended = Counter(
            "jangar_runs_ended", "Runs that ended, by phase.", ["phase"], registry=self.registry
        )
        self._cancels = Counter(
            "jangar_cancels_accepted", "Requests to cancel a run that were acted on.", registry=self.registry
        )
        self._asked = _Asked()
        self.registry.register(self._asked)

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        """A pass has ended."""
        self._passes.labels(controller, result).inc()
        self._pass_seconds.labels(controller).observe(seconds)

    def loop_lag(self, seconds: float) -> None:
        """The event loop came so much later than it was asked to."""
        self._lag_seconds.observe(seconds)

    def waited(self, controller: str, seconds: float) -> None:
        """A worker has taken a key that waited so long."""
        self._wait_seconds.labels(controller).observe(seconds)

    def requested(self, verb: str, code: int, seconds: float) -> None:
        """A request was answered with the code, or with 0 not at all."""
        known = verb if verb in _VERBS else _OTHER
        self._requests.labels(known, str(code) if 0 <= code <= _LARGEST_CODE else _OTHER).inc()
        self._request_seconds.labels(known).observe(seconds)

    def step_ended(self, kind: str, phase: str, seconds: float) -> None:
        """A step has come to its end."""
        self._step_seconds.labels(kind, phase).observe(seconds)

    def run_ended(self, phase: str) -> None:
        """A run has come to its end."""
        self._ended.labels(phase).inc()

    def cancel_accepted(self) -> None:
        """A run is being cancelled."""
        self._cancels.inc()

    def job_missing(self) -> None:
        """A Job was lost."""
        self._missing.inc()

    def expired(self, kind: str) -> None:
        """An object was deleted because its time was over."""
        self._expired.labels(kind).inc()

    def watch_history(self, readings: HistoryReadings) -> None:
        """Ask what is stored whenever metrics are read."""
        self._asked.history = readings

    def watch_queue(self, controller: str, readings: QueueReadings) -> None:
        """Ask this queue whenever metrics are read."""
        self._asked.queues[controller] = readings

    def watch_informer(self, kind: str, readings: InformerReadings) -> None:
        """Ask this informer whenever metrics are read."""
        self._asked.informers[kind] = readings

    def watch_lease(self, is_held: Callable[[], bool]) -> None:
        """Ask whether this process is the one that acts whenever metrics are read."""
        self._asked.is_held = is_held

    def watch_shards(self, readings: ShardReadings) -> None:
        """Ask for the shards of this process whenever metrics are read."""
        self._asked.shards = readings

    def watch_quarantine(self, counts: Callable[[], Mapping[str, int]]) -> None:
        """Ask for the quarantined objects of each controller."""
        self._asked.quarantine = counts

    def watch_events(self, dropped: Callable[[], float]) -> None:
        """Ask for the Events that were recorded and never written whenever metrics are read."""
        self._asked.dropped_events = dropped

    def text(self) -> bytes:
        """What a scrape gets, of CONTENT_TYPE; to be called on the event loop that the parts run on."""
        return generate_latest(self.registry)


class _Asked(Collector):
    """Reads what the parts say at this moment."""

    def __init__(self) -> None:
        self.queues: dict[str, QueueReadings] = {}
        self.informers: dict[str, InformerReadings] = {}
        self.is_held: Callable[[], bool] | None = None
        self.shards: ShardReadings | None = None
        self.dropped_events: Callable[[], float] | None = None
        self.quarantine: Callable[[], Mapping[str, int]] | None = None
        self.history: HistoryReadings | None = None

    def collect(self) -> Iterable[Metric]:
        yield from self._queues()
        yield from self._informers()
        if self.is_held is not None:
            yield GaugeMetricFamily(
                "jangar_lease_held", "1 if this process is the one that acts.", value=float(self.is_held())
            )
        if self.shards is not None:
            yield from _shards(self.shards)
        if self.dropped_events is not None:
            yield CounterMetricFamily(
                "jangar_events_dropped",
                "Events recorded and never written.",
                value=self.dropped_events(),
            )
        if self.quarantine is not None:
            held = GaugeMetricFamily(
                "jangar_quarantined_objects",
                "Objects that no pass is begun for until their spec changes.",
                labels=["controller"],
            )
            for controller, count in self.quarantine().items():
                held.add_metric([controller], count)
            yield held
        if self.history is not None:
            yield from _history(self.history)

    def _queues(self) -> Iterable[Metric]:
        depth = GaugeMetricFamily(
            "jangar_workqueue_depth", "Keys that wait for a worker.", labels=["controller"]
        )
        delayed = GaugeMetricFamily(
            "jangar_workqueue_delayed", "Keys that wait for their time.", labels=["controller"]
        )
        age = GaugeMetricFamily(
            "jangar_workqueue_oldest_age_seconds",
            "How long the next in line has waited.",
            labels=["controller"],
        )
        for controller, readings in self.queues.items():
            depth.add_metric([controller], readings.depth())
            delayed.add_metric([controller], readings.delayed())
            age.add_metric([controller], readings.oldest_age())
        return depth, delayed, age

    def _informers(self) -> Iterable[Metric]:
        objects = GaugeMetricFamily("jangar_informer_objects", "Objects in the cache.", labels=["kind"])
        age = GaugeMetricFamily(
            "jangar_informer_age_seconds", "Time since the API server was last heard of.", labels=["kind"]
        )
        lists = CounterMetricFamily(
            "jangar_informer_lists", "Lists, the first of each namespace included.", labels=["kind"]
        )
        watches = CounterMetricFamily("jangar_informer_watches", "Watches begun.", labels=["kind"])
        for kind, readings in self.informers.items():
            objects.add_metric([kind], readings.objects())
            age.add_metric([kind], readings.age())
            lists.add_metric([kind], readings.lists())
            watches.add_metric([kind], readings.watches())
        return objects, age, lists, watches


def _shards(readings: ShardReadings) -> Iterable[Metric]:
    told = (
        (GaugeMetricFamily, "jangar_shards", "Shards that there are.", readings.shards),
        (GaugeMetricFamily, "jangar_shards_held", "Shards that this process may act on.", readings.held),
        (CounterMetricFamily, "jangar_shards_taken", "Shards taken.", readings.taken),
        (
            CounterMetricFamily,
            "jangar_shards_taken_over",
            "Shards taken from a process that fell silent.",
            readings.taken_over,
        ),
        (
            CounterMetricFamily,
            "jangar_shards_handed_over",
            "Shards given back because another process should have them.",
            readings.handed_over,
        ),
        (
            CounterMetricFamily,
            "jangar_shards_lost",
            "Shards whose Lease ran out or was taken by another process.",
            readings.lost,
        ),
    )
    for family, name, meaning, read in told:
        yield family(name, meaning, value=read())


def _history(readings: HistoryReadings) -> Iterable[Metric]:
    yield GaugeMetricFamily(
        "jangar_history_pending_rows",
        "Ends that are not stored yet; deletion waits for them.",
        value=readings.pending(),
    )
    yield GaugeMetricFamily(
        "jangar_history_oldest_age_seconds",
        "How long the first of them has waited.",
        value=readings.oldest_age(),
    )
    yield CounterMetricFamily("jangar_history_rows_stored", "Ends that were stored.", value=readings.stored())
    yield CounterMetricFamily(
        "jangar_history_failures", "Times that the database did not store them.", value=readings.failures()
    )
    deleted = CounterMetricFamily(
        "jangar_history_deleted_rows",
        "Rows of history deleted because their time was over.",
        labels=["table"],
    )
    for table, number in sorted(readings.deleted().items()):
        deleted.add_metric([table], number)
    yield deleted
