"""The metrics of a process, in base units and with bounded labels. Knows prometheus-client, and no part it measures.

What happens is told by calls (`reconciled`, `requested`); what is, is asked when somebody reads (`watch_queue`,
`watch_informer`). Labels take controllers, kinds, verbs, codes and outcomes: never names or namespaces of objects.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SHORT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
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
        self._asked = _Asked()
        self.registry.register(self._asked)

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        """A pass has ended."""
        self._passes.labels(controller, result).inc()
        self._pass_seconds.labels(controller).observe(seconds)

    def waited(self, controller: str, seconds: float) -> None:
        """A worker has taken a key that waited so long."""
        self._wait_seconds.labels(controller).observe(seconds)

    def requested(self, verb: str, code: int, seconds: float) -> None:
        """A request was answered with the code, or with 0 not at all."""
        known = verb if verb in _VERBS else _OTHER
        self._requests.labels(known, str(code) if 0 <= code <= _LARGEST_CODE else _OTHER).inc()
        self._request_seconds.labels(known).observe(seconds)

    def job_missing(self) -> None:
        """A Job was lost."""
        self._missing.inc()

    def watch_queue(self, controller: str, readings: QueueReadings) -> None:
        """Ask this queue whenever metrics are read."""
        self._asked.queues[controller] = readings

    def watch_informer(self, kind: str, readings: InformerReadings) -> None:
        """Ask this informer whenever metrics are read."""
        self._asked.informers[kind] = readings

    def watch_lease(self, is_held: Callable[[], bool]) -> None:
        """Ask whether this process is the one that acts whenever metrics are read."""
        self._asked.is_held = is_held

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
        self.dropped_events: Callable[[], float] | None = None

    def collect(self) -> Iterable[Metric]:
        yield from self._queues()
        yield from self._informers()
        if self.is_held is not None:
            yield GaugeMetricFamily(
                "jangar_lease_held", "1 if this process is the one that acts.", value=float(self.is_held())
            )
        if self.dropped_events is not None:
            yield CounterMetricFamily(
                "jangar_events_dropped",
                "Events recorded and never written.",
                value=self.dropped_events(),
            )

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
