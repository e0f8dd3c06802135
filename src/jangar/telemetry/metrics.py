"""The Prometheus metrics of a process, in base units and with bounded labels.

Events are reported by calls (`reconciled`, `requested`); current values are read at scrape time (`watch`). Labels are
controllers, kinds, verbs, codes and outcomes, never names or namespaces of objects.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SHORT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LONG = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0)
_VERBS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "WATCH"})
_OTHER = "other"
_MAX_STATUS_CODE = 599


_Family = type[GaugeMetricFamily] | type[CounterMetricFamily]
_GAUGE, _COUNTER = GaugeMetricFamily, CounterMetricFamily
_WATCHED: Final[Mapping[str, tuple[_Family, str, str]]] = {
    "jangar_workqueue_depth": (_GAUGE, "Keys that wait for a worker.", "controller"),
    "jangar_workqueue_delayed": (_GAUGE, "Keys that wait for a delay to pass.", "controller"),
    "jangar_workqueue_oldest_age_seconds": (
        _GAUGE,
        "Time that the oldest ready key has waited.",
        "controller",
    ),
    "jangar_informer_objects": (_GAUGE, "Objects in the cache.", "kind"),
    "jangar_informer_age_seconds": (_GAUGE, "Time since the last response of the API server.", "kind"),
    "jangar_informer_lists": (_COUNTER, "List requests, including the first of each namespace.", "kind"),
    "jangar_informer_watches": (_COUNTER, "Watches started.", "kind"),
    "jangar_lease_held": (_GAUGE, "1 if this process holds a Lease.", ""),
    "jangar_shards": (_GAUGE, "Total number of shards.", ""),
    "jangar_shards_held": (_GAUGE, "Shards held by this process.", ""),
    "jangar_shards_taken": (_COUNTER, "Shards acquired.", ""),
    "jangar_shards_taken_over": (_COUNTER, "Shards acquired from an unresponsive process.", ""),
    "jangar_shards_handed_over": (_COUNTER, "Shards handed over to another process.", ""),
    "jangar_shards_lost": (_COUNTER, "Shards whose Lease expired or was taken by another process.", ""),
    "jangar_events_dropped": (_COUNTER, "Events that were recorded but not written.", ""),
    "jangar_quarantined_objects": (
        _GAUGE,
        "Objects that are not reconciled until their spec changes.",
        "controller",
    ),
    "jangar_history_pending_rows": (
        _GAUGE,
        "Finished objects that are not stored yet; their deletion waits.",
        "",
    ),
    "jangar_history_oldest_age_seconds": (_GAUGE, "Time that the oldest pending row has waited.", ""),
    "jangar_history_rows_stored": (_COUNTER, "Finished objects that were stored.", ""),
    "jangar_history_failures": (_COUNTER, "Failed writes to the history database.", ""),
    "jangar_history_deleted_rows": (_COUNTER, "History rows deleted by retention.", "table"),
}
"""Metrics that are read at scrape time: type, description and label, if any."""


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

    def watch(self, metric: str, read: Callable[[], float], label: str = "") -> None:
        """Read this value at each scrape; `label` is the value of the metric's label, if it has one."""
        self.watch_all(metric, lambda: {label: read()})

    def watch_all(self, metric: str, read: Callable[[], Mapping[str, float]]) -> None:
        """Read these values by label at each scrape."""
        self._scraped.reads.setdefault(metric, []).append(read)

    def text(self) -> bytes:
        """The response to a scrape, of CONTENT_TYPE. Call it on the event loop of the measured components."""
        return generate_latest(self.registry)


class _ScrapeCollector(Collector):
    """Reads the current values at scrape time."""

    def __init__(self) -> None:
        self.reads: dict[str, list[Callable[[], Mapping[str, float]]]] = {}

    def collect(self) -> Iterable[Metric]:
        for name, (family, description, label) in _WATCHED.items():
            if name in self.reads:
                metric = family(name, description, labels=[label] if label else [])
                for read in self.reads[name]:
                    for value_of_label, value in sorted(read().items()):
                        metric.add_metric([value_of_label] if label else [], value)
                yield metric


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
