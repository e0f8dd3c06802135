"""Accepted Host headers, origins of pages, and sessions."""

import pytest
from starlette.datastructures import Headers

from jangar.server.http.guards import AllowedHosts
from jangar.server.http.identity import SESSION_SECONDS, Sessions

HOST = {"host": "127.0.0.1:7480"}
LAPTOP = AllowedHosts.loopback(7480)


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        pytest.param("GET", HOST, None, id="reads"),
        pytest.param("POST", HOST, None, id="a-program-writes"),
        pytest.param("POST", HOST | {"origin": "http://127.0.0.1:7480"}, None, id="our-page-writes"),
        pytest.param("GET", {"host": "evil.example:7480"}, 421, id="a-name-that-points-here"),
        pytest.param("GET", {"host": "127.0.0.1:80"}, 421, id="another-port"),
        pytest.param("GET", {}, 421, id="no-name"),
        pytest.param("POST", HOST | {"origin": "http://localhost:3000"}, 403, id="another-port-writes"),
        pytest.param("POST", HOST | {"origin": "null"}, 403, id="a-page-without-origin"),
        pytest.param("DELETE", HOST | {"sec-fetch-site": "same-site"}, 403, id="same-site-is-not-same"),
    ],
)
def test_only_our_own_page_writes_from_a_browser(method, headers, status):
    """Reads check the host and the session, writes also the origin."""
    refusal = LAPTOP.refusal(method, Headers(headers))
    assert (refusal.status if refusal else None) == status


def test_other_origins_write_where_they_are_allowed():
    """On a cluster the page may be served from another origin."""
    cluster = AllowedHosts(hosts=None, origins=frozenset({"https://page.example"}))
    headers = {"host": "api", "origin": "https://page.example", "sec-fetch-site": "cross-site"}
    assert cluster.refusal("POST", Headers(headers)) is None


def test_a_session_ends_and_cannot_be_made_up():
    """The signature covers its expiry and depends on the token."""
    sessions = Sessions("token" * 8, "cookie")
    session = sessions.new(1000.0)
    assert sessions.is_valid(session, 1001.0)
    assert not sessions.is_valid(session, 1001.0 + SESSION_SECONDS)
    until, _, signature = session.partition(".")
    assert not sessions.is_valid(f"{int(until) + 1}.{signature}", 1001.0)
    assert not sessions.is_valid("", 0.0)
    assert not Sessions("another" * 8, "cookie").is_valid(session, 1001.0)


@pytest.mark.parametrize("token", ["", "short"])
def test_a_guessable_token_makes_no_sessions(token):
    """An empty token file would admit everyone (E15)."""
    with pytest.raises(ValueError, match="characters"):
        Sessions(token, "cookie")
    assert not Sessions("token" * 8, "cookie").accepts("")
