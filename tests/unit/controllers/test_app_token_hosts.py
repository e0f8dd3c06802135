"""The token of an app is asked for at hosts that operators list; for others the key is not even read (E14)."""

import asyncio
from datetime import UTC, datetime

import pytest

from jangar.controllers.job_execution.app_tokens import AppTokens, SignInRefused
from jangar.domain.job_execution.command import AppToken
from kubekit.client.api_client import Client
from support.answering_transport import AnsweringTransport


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/app/installations/1/access_tokens",
        "https://api.github.com.evil.example/app/installations/1/access_tokens",
        "https://api.github.com@evil.example/app/installations/1/access_tokens",
        "http://169.254.169.254/app/installations/1/access_tokens",
        "http://127.0.0.1:8081/app/installations/1/access_tokens",
    ],
)
def test_no_sign_in_leaves_for_a_host_that_is_not_listed(url):
    """E14: whatever a VersionControlProvider says; the Secret with the key is not asked for."""
    transport = AnsweringTransport()
    tokens = AppTokens(Client(transport, manager="test"), lambda: datetime.now(UTC))
    token = AppToken(url=url, app_id="1", secret="app", key="privateKey")  # noqa: S106 - a name
    with pytest.raises(SignInRefused, match=r"providerHosts\.allowed"):
        asyncio.run(tokens.create(token, "team"))
    assert transport.requests == []
