"""The Prometheus metrics of a process, in base units and with bounded labels.

Events are reported by calls (`reconciled`, `requested`); current values are read at scrape time (`watch_queue`,
`watch_informer`). Labels are controllers, kinds, verbs, codes and outcomes, never names or namespaces of objects.
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
_MAX_STATUS_CODE = 599


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReadings:
    """Current values of a work queue."""

    depth: Callable[[], float]
    delayed: Callable[[], float]
    oldest_age: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class InformerReadings:
    """Current values of an informer."""

    objects: Callable[[], float]
    age: Callable[[], float]
    lists: Callable[[], float]
    watches: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardReadings:
    """Current values of the shards of this process."""

    shards: Callable[[], float]
    held: Callable[[], float]
    taken: Callable[[], float]
    taken_over: Callable[[], float]
    handed_over: Callable[[], float]
    lost: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReadings:
    """Current values of the history writer."""

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
            "jangar_reconcile", "Reconciliations by result.", ["controller", "result"], registry=self.registry
        )
        self._pass_seconds = Histogram(
            "jangar_reconcile_duration_seconds",
            "Duration of reconciliations.",
            ["controller"],
            buckets=_SHORT,
            registry=self.registry,
        )
        self._wait_seconds = Histogram(
            "jangar_workqueue_wait_seconds",
            "Time that keys waited for a worker.",
            ["controller"],
            buckets=_SHORT,
            registry=self.registry,
        )
        self._lag_seconds = Histogram(
            "jangar_event_loop_lag_seconds",
            "Lag of the event loop, measured four times a second.",
            buckets=_SHORT,
            registry=self.registry,
        )
        self._requests = Counter(
            "jangar_api_requests",
            "Requests to the Kubernetes API by verb and status code; code 0 means no response.",
            ["verb", "code"],
            registry=self.registry,
        )
        self._request_seconds = Histogram(
            "jangar_api_request_duration_seconds",
            "Duration of requests to the Kubernetes API.",
            ["verb"],
            buckets=_SHORT,
            registry=self.registry,
        )
        self._missing = Counter(
            "jangar_workflow_job_missing",
            "Jobs that disappeared without an outcome.",
            registry=self.registry,
        )
        self._expired = Counter(
            "jangar_retention_deleted",
            "Objects deleted by retention.",
            ["kind"],
            registry=self.registry,
        )
        self._step_seconds = Histogram(
            "jangar_step_duration_seconds",
            "Duration of steps from their first start to their end, by kind and phase.",
            ["kind", "phase"],
            buckets=_LONG,
            registry=self.registry,
        )
        self._ended = Counter(
            "jangar_runs_ended", "Runs that ended, by phase.", ["phase"], registry=self.registry
        )
        self._cancels = Counter(
            "jangar_cancels_accepted", "Accepted requests to cancel a run.", registry=self.registry
        )
        self._scraped = _ScrapeCollector()
        self.registry.register(self._scraped)

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        """Record a finished reconciliation."""
        self._passes.labels(controller, result).inc()
        self._pass_seconds.labels(controller).observe(seconds)

    def loop_lag(self, seconds: float) -> None:
        """Record the lag of the event loop."""
        self._lag_seconds.observe(seconds)

    def waited(self, controller: str, seconds: float) -> None:
        """Record how long a key waited for a worker."""
        self._wait_seconds.labels(controller).observe(seconds)

    def requested(self, verb: str, code: int, seconds: float) -> None:
        """Record a request; code 0 means no response."""
        known = verb if verb in _VERBS else _OTHER
        self._requests.labels(known, str(code) if 0 <= code <= _MAX_STATUS_CODE else _OTHER).inc()
        self._request_seconds.labels(known).observe(seconds)

    def step_ended(self, kind: str, phase: str, seconds: float) -> None:
        """Record a finished step."""
        self._step_seconds.labels(kind, phase).observe(seconds)

    def run_ended(self, phase: str) -> None:
        """Record a finished run."""
        self._ended.labels(phase).inc()

    def cancel_accepted(self) -> None:
        """Record an accepted cancel request."""
        self._cancels.inc()

    def job_missing(self) -> None:
        """Record a Job that disappeared without an outcome."""
        self._missing.inc()

    def expired(self, kind: str) -> None:
        """Record an object deleted by retention."""
        self._expired.labels(kind).inc()

    def watch_history(self, readings: HistoryReadings) -> None:
        """Read the history writer at each scrape."""
        self._scraped.history = readings

    def watch_queue(self, controller: str, readings: QueueReadings) -> None:
        """Read this queue at each scrape."""
        self._scraped.queues[controller] = readings

    def watch_informer(self, kind: str, readings: InformerReadings) -> None:
        """Read this informer at each scrape."""
        self._scraped.informers[kind] = readings

    def watch_lease(self, has_finalizer: Callable[[], bool]) -> None:
        """Read at each scrape whether this process holds a Lease."""
        self._scraped.has_finalizer = has_finalizer

    def watch_shards(self, readings: ShardReadings) -> None:
        """Read the shards of this process at each scrape."""
        self._scraped.shards = readings

    def watch_quarantine(self, counts: Callable[[], Mapping[str, int]]) -> None:
        """Read the number of quarantined objects per controller at each scrape."""
        self._scraped.quarantine = counts

    def watch_events(self, dropped: Callable[[], float]) -> None:
        """Read the number of dropped Events at each scrape."""
        self._scraped.dropped_events = dropped

    def text(self) -> bytes:
        """The response to a scrape, of CONTENT_TYPE. Call it on the event loop of the measured components."""
        return generate_latest(self.registry)


class _ScrapeCollector(Collector):
    """Reads the current values at scrape time."""

    def __init__(self) -> None:
        self.queues: dict[str, QueueReadings] = {}
        self.informers: dict[str, InformerReadings] = {}
        self.has_finalizer: Callable[[], bool] | None = None
        self.shards: ShardReadings | None = None
        self.dropped_events: Callable[[], float] | None = None
        self.quarantine: Callable[[], Mapping[str, int]] | None = None
        self.history: HistoryReadings | None = None

    def collect(self) -> Iterable[Metric]:
        yield from self._queues()
        yield from self._informers()
        if self.has_finalizer is not None:
            yield GaugeMetricFamily(
                "jangar_lease_held", "1 if this process holds a Lease.", value=float(self.has_finalizer())
            )
        if self.shards is not None:
            yield from _shards(self.shards)
        if self.dropped_events is not None:
            yield CounterMetricFamily(
                "jangar_events_dropped",
                "Events that were recorded but not written.",
                value=self.dropped_events(),
            )
        if self.quarantine is not None:
            held = GaugeMetricFamily(
                "jangar_quarantined_objects",
                "Objects that are not reconciled until their spec changes.",
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
            "jangar_workqueue_delayed", "Keys that wait for a delay to pass.", labels=["controller"]
        )
        age = GaugeMetricFamily(
            "jangar_workqueue_oldest_age_seconds",
            "Time that the oldest ready key has waited.",
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
            "jangar_informer_age_seconds", "Time since the last response of the API server.", labels=["kind"]
        )
        lists = CounterMetricFamily(
            "jangar_informer_lists", "List requests, including the first of each namespace.", labels=["kind"]
        )
        watches = CounterMetricFamily("jangar_informer_watches", "Watches started.", labels=["kind"])
        for kind, readings in self.informers.items():
            objects.add_metric([kind], readings.objects())
            age.add_metric([kind], readings.age())
            lists.add_metric([kind], readings.lists())
            watches.add_metric([kind], readings.watches())
        return objects, age, lists, watches


def _shards(readings: ShardReadings) -> Iterable[Metric]:
    families = (
        (GaugeMetricFamily, "jangar_shards", "Total number of shards.", readings.shards),
        (GaugeMetricFamily, "jangar_shards_held", "Shards held by this process.", readings.held),
        (CounterMetricFamily, "jangar_shards_taken", "Shards acquired.", readings.taken),
        (
            CounterMetricFamily,
            "jangar_shards_taken_over",
            "Shards acquired from an unresponsive process.",
            readings.taken_over,
        ),
        (
            CounterMetricFamily,
            "jangar_shards_handed_over",
            "Shards handed over to another process.",
            readings.handed_over,
        ),
        (
            CounterMetricFamily,
            "jangar_shards_lost",
            "Shards whose Lease expired or was taken by another process.",
            readings.lost,
        ),
    )
    for family, name, meaning, read in families:
        yield family(name, meaning, value=read())


def _history(readings: HistoryReadings) -> Iterable[Metric]:
    yield GaugeMetricFamily(
        "jangar_history_pending_rows",
        "Finished objects that are not stored yet; their deletion waits.",
        value=readings.pending(),
    )
    yield GaugeMetricFamily(
        "jangar_history_oldest_age_seconds",
        "Time that the oldest pending row has waited.",
        value=readings.oldest_age(),
    )
    yield CounterMetricFamily(
        "jangar_history_rows_stored", "Finished objects that were stored.", value=readings.stored()
    )
    yield CounterMetricFamily(
        "jangar_history_failures", "Failed writes to the history database.", value=readings.failures()
    )
    deleted = CounterMetricFamily(
        "jangar_history_deleted_rows",
        "History rows deleted by retention.",
        labels=["table"],
    )
    for table, number in sorted(readings.deleted().items()):
        deleted.add_metric([table], number)
    yield deleted


class HttpMetrics:
    """Metrics of an HTTP server. Routes are labeled as the route table writes them, never with names of objects."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "jangar_http_requests",
            "HTTP requests by route and status code.",
            ["method", "route", "code"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "jangar_http_request_duration_seconds",
            "Time until the response headers were sent.",
            ["route"],
            buckets=_SHORT[:-1],
            registry=self._registry,
        )

    def answered(self, method: str, route: str, code: int, seconds: float) -> None:
        """Record a response whose headers were sent."""
        self._requests.labels(method, route, str(code)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """The response to a scrape, of CONTENT_TYPE."""
        return generate_latest(self._registry)
