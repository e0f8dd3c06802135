"""Rules that every row of the route table follows."""

import pytest

from jangar.server.http.guards import SAFE
from jangar.server.http.identity import Right
from jangar.server.http.openapi import document
from jangar.server.http.route import OPEN
from jangar.server.http.routes import ROUTES

CHANGING = [entry for entry in ROUTES if entry.method not in SAFE and entry.path != "/v1/session"]


@pytest.mark.parametrize("entry", CHANGING, ids=lambda item: item.operation)
def test_nothing_changes_without_a_right(entry):
    """Every changing route requires a Kubernetes permission."""
    assert isinstance(entry.access, Right)
    assert entry.access.verb in {"create", "patch", "delete"}


def test_open_routes_are_few_and_known():
    """The routes without authentication are listed here."""
    assert {entry.path for entry in ROUTES if entry.access is OPEN} == {
        "/health",
        "/ready",
        "/metrics",
        "/openapi.json",
        "/v1/session",
    }


def test_every_line_has_a_name_of_its_own():
    """Operation ids, from which clients are generated."""
    names = [entry.operation for entry in ROUTES]
    assert len(set(names)) == len(names)


def test_the_document_refers_only_to_what_it_holds():
    """Every reference has a schema."""
    made = document(ROUTES, "1")
    found = set()

    def walk(node):
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                found.add(node["$ref"].rpartition("/")[2])
            for item in node.values():
                walk(item)
        elif isinstance(node, list):
            for item in node:
                walk(item)

    walk(made)
    assert found <= set(made["components"]["schemas"])
