"""How HTTP is doing, in base units; labels take routes as the table writes them, never names of objects."""

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Measured:
    """The requests of one server."""

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
            buckets=_SECONDS,
            registry=self._registry,
        )

    def answered(self, method: str, route: str, code: int, seconds: float) -> None:
        self._requests.labels(method, route, str(code)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)
