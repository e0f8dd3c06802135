"""What a scrape gets."""

import re

from jangar.telemetry.metrics import Metrics


def samples(metrics):
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in metrics.text().decode().splitlines()
        if not line.startswith("#")
    }


def test_what_happens_is_counted_and_timed():
    """Passes by controller and result, requests by verb and code, waits by controller."""
    metrics = Metrics()
    metrics.reconciled("toolrun", "done", 0.2)
    metrics.reconciled("toolrun", "conflict", 0.1)
    metrics.waited("toolrun", 0.004)
    metrics.requested("GET", 200, 0.01)
    metrics.requested("GET", 0, 10.0)
    found = samples(metrics)
    assert found['jangar_reconcile_total{controller="toolrun",result="conflict"}'] == 1
    assert found['jangar_reconcile_duration_seconds_count{controller="toolrun"}'] == 2
    assert found['jangar_workqueue_wait_seconds_sum{controller="toolrun"}'] == 0.004
    assert found['jangar_api_requests_total{code="0",verb="GET"}'] == 1
    assert found['jangar_api_request_duration_seconds_count{verb="GET"}'] == 2


def test_a_gauge_is_computed_when_it_is_read():
    """Depths and ages are those of the moment of the scrape."""
    metrics = Metrics()
    keys, reported = ["a", "b"], {"lists": 1.0}
    metrics.watch("jangar_workqueue_depth", lambda: len(keys), "toolrun")
    metrics.watch("jangar_informer_age_seconds", lambda: 0.5, "Job")
    metrics.watch("jangar_informer_lists", lambda: reported["lists"], "Job")
    metrics.watch("jangar_lease_held", lambda: True)
    metrics.watch("jangar_events_dropped", lambda: 2)
    metrics.watch("jangar_shards_taken", lambda: 7)
    metrics.watch_all("jangar_quarantined_objects", lambda: {"toolrun": 1, "agentrun": 2})
    before = samples(metrics)
    keys.clear()
    reported["lists"] = 2.0
    after = samples(metrics)
    depth, lists = 'jangar_workqueue_depth{controller="toolrun"}', 'jangar_informer_lists_total{kind="Job"}'
    assert (before[depth], after[depth]) == (2, 0)
    assert (before[lists], after[lists]) == (1, 2)
    assert after['jangar_informer_age_seconds{kind="Job"}'] == 0.5
    assert (after["jangar_lease_held"], after["jangar_events_dropped_total"]) == (1, 2)
    assert after["jangar_shards_taken_total"] == 7
    assert after['jangar_quarantined_objects{controller="agentrun"}'] == 2
    assert "jangar_shards_lost_total" not in after


def test_labels_are_bounded():
    """Whatever a server or a caller says, the number of series has a bound."""
    metrics = Metrics()
    for number in range(1000):
        metrics.requested(f"VERB{number}", 1000 + number, 0.1)
    assert sum(name.startswith("jangar_api_requests_total") for name in samples(metrics)) == 1


def test_names_are_ours_and_units_are_base_units():
    """`jangar_`, seconds, and `_total` for counters."""
    metrics = Metrics()
    families = re.findall(r"^# TYPE (\S+) (\S+)", metrics.text().decode(), flags=re.MULTILINE)
    assert families
    for name, kind in families:
        assert name.startswith("jangar_")
        assert not re.search(r"milli|micro|_ms\b|minutes", name)
        if kind == "counter":
            assert name.endswith(("_total", "_created"))
