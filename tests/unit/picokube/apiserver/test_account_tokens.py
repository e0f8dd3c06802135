"""Tokens of service accounts: signed, bound, and over when their time or their account is."""

import base64
import stat
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from picokube.apiserver.auth.account_key import ensure_account_key
from picokube.apiserver.auth.authentication import (
    AUDIENCE,
    AccountTokens,
    Authenticator,
    InvalidToken,
    TokenClaims,
    TokenOwner,
)
from picokube.apiserver.protocol.errors import ApiError
from picokube.apiserver.protocol.messages import ANONYMOUS, Request, User

NOW = datetime(2026, 2, 7, 12, 0, tzinfo=UTC)
ACCOUNT = {"metadata": {"name": "robot", "namespace": "n", "uid": "u-1"}}
POD = {"metadata": {"name": "p", "namespace": "n", "uid": "u-2"}}


class World:
    """What is stored, and what time it is."""

    def __init__(self, directory):
        self.now = NOW
        self.objects = {("serviceaccounts", "n", "robot"): ACCOUNT, ("pods", "n", "p"): POD}
        self.tokens = self.opened(directory)

    def opened(self, directory):
        return AccountTokens(
            directory / "accounts.key",
            lambda *where: self.objects.get(where),
            lambda: self.now,
            lambda: "jti",
        )

    def token(self, **bound):
        return self.tokens.issued(
            TokenClaims(account=ACCOUNT, audiences=(AUDIENCE,), seconds=600, bound=bound)
        )


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_an_account_is_known_by_its_token(world):
    """As a user with the groups of accounts."""
    found = world.tokens.known(world.token(), (AUDIENCE,))
    assert isinstance(found, TokenOwner)
    assert (found.user.name, found.user.uid) == ("system:serviceaccount:n:robot", "u-1")
    groups = ("system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated")
    assert found.user.groups == groups
    assert found.user.extra == {"authentication.kubernetes.io/credential-id": ("JTI=jti",)}


def test_a_token_says_what_those_of_kubernetes_say(world):
    """Other readers of the token find the claims in their standard fields."""
    claims = _claims(world.token(pod={"name": "p", "uid": "u-2"}))
    began = int(NOW.timestamp())
    assert claims == {
        "aud": [AUDIENCE],
        "exp": began + 600,
        "iat": began,
        "iss": AUDIENCE,
        "jti": "jti",
        "kubernetes.io": {
            "namespace": "n",
            "pod": {"name": "p", "uid": "u-2"},
            "serviceaccount": {"name": "robot", "uid": "u-1"},
        },
        "nbf": began,
        "sub": "system:serviceaccount:n:robot",
    }


def _claims(token):
    body = token.split(".")[1]
    return orjson.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


@pytest.mark.parametrize(
    ("seconds", "why"),
    [
        pytest.param(0, None, id="fresh"),
        pytest.param(640, None, id="just-over"),
        pytest.param(700, "service account token has expired", id="over"),
        pytest.param(-100, "service account token is not valid yet", id="early"),
    ],
)
def test_a_token_has_its_time(world, seconds, why):
    """Clocks may differ by a minute."""
    token = world.token()
    world.now = NOW + timedelta(seconds=seconds)
    found = world.tokens.known(token, (AUDIENCE,))
    assert getattr(found, "why", None) == why


def test_a_token_ends_with_its_account(world):
    """Another account of the same name is another account."""
    token = world.token()
    world.objects["serviceaccounts", "n", "robot"] = {"metadata": {**ACCOUNT["metadata"], "uid": "u-9"}}
    assert world.tokens.known(token, (AUDIENCE,)) == InvalidToken(
        why="service account UID (u-9) does not match claim (u-1)"
    )
    del world.objects["serviceaccounts", "n", "robot"]
    assert world.tokens.known(token, (AUDIENCE,)) == InvalidToken(why='serviceaccounts "robot" not found')


def test_a_bound_token_ends_with_its_pod(world):
    """And names its pod until then."""
    token = world.token(pod={"name": "p", "uid": "u-2"}, node={"name": "gone"})
    found = world.tokens.known(token, (AUDIENCE,))
    assert found.user.extra["authentication.kubernetes.io/pod-name"] == ("p",)
    assert found.user.extra["authentication.kubernetes.io/node-name"] == ("gone",)
    del world.objects["pods", "n", "p"]
    assert world.tokens.known(token, (AUDIENCE,)) == InvalidToken(
        why="service account token has been invalidated"
    )


def test_a_token_is_for_those_it_names(world):
    """For other audiences it is invalid."""
    token = world.token()
    assert world.tokens.known(token, ("x", AUDIENCE)).audiences == (AUDIENCE,)
    why = f'token audiences ["{AUDIENCE}"] is invalid for the target audiences ["x"]'
    assert world.tokens.known(token, ("x",)) == InvalidToken(why=why)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda token: token[:-4] + ("AAAA" if token[-4:] != "AAAA" else "BBBB"), id="signature"),
        pytest.param(lambda token: token.replace(".", ".e30.", 1), id="parts"),
        pytest.param(lambda token: "e30." + token.split(".", 1)[1], id="head"),
        pytest.param(lambda token: ".".join([*token.split(".")[:2], ""]), id="unsigned"),
        pytest.param(lambda _: "a.b.c", id="nonsense"),
        pytest.param(lambda _: "ä.ö.ü", id="letters"),
        pytest.param(lambda _: "guess", id="guess"),
    ],
)
def test_what_no_one_signed_is_nobodys(world, changed):
    """Whatever it says."""
    assert world.tokens.known(changed(world.token()), (AUDIENCE,)) == InvalidToken()


def test_the_key_outlives_the_server(world, tmp_path):
    """Its file is its owner's alone."""
    token = world.token()
    assert isinstance(world.opened(tmp_path).known(token, (AUDIENCE,)), TokenOwner)
    assert isinstance(world.opened(tmp_path / "other").known(token, (AUDIENCE,)), InvalidToken)
    assert stat.S_IMODE((tmp_path / "accounts.key").stat().st_mode) == 0o600


def test_two_keys_have_two_names(tmp_path):
    """The head of a token says which one signed it."""
    first, second = (ensure_account_key(tmp_path / name) for name in ("a", "b"))
    assert first.id != second.id
    assert second.claims(first.sign({"a": 1})) is None
    assert first.claims(first.sign({"a": 1})) == {"a": 1}


def _authenticated(authenticator, **headers):
    return authenticator.authenticated(Request(method="GET", path="/", headers=headers)).user


def test_a_request_is_somebodys(world):
    """A bad token is refused; a request without one is anonymous."""
    authenticator = Authenticator({"t": User(name="a", uid="7")}, accounts=world.tokens)
    known = User(name="a", uid="7", groups=("system:authenticated",))
    assert _authenticated(authenticator, authorization="Bearer t") == known
    assert _authenticated(authenticator, authorization=f"Bearer {world.token()}").uid == "u-1"
    assert _authenticated(authenticator) is ANONYMOUS
    with pytest.raises(ApiError, match="Unauthorized"):
        _authenticated(authenticator, authorization="Bearer x")


def test_a_token_of_the_table_is_for_the_server():
    """And for no other user."""
    authenticator = Authenticator({"t": User(name="a")})
    assert isinstance(authenticator.known("t"), TokenOwner)
    assert isinstance(authenticator.known("t", ("x",)), InvalidToken)
    assert isinstance(authenticator.known("x"), InvalidToken)
