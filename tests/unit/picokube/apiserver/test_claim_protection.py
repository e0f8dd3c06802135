"""Deleted claims stay while a pod on a node uses them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from picokube.apiserver.lifecycle.claim_protection import ClaimProtection
from picokube.apiserver.objects.deletion import DeleteOptions, delete
from picokube.apiserver.storage.store import Key
from support.server_parts import make, server_parts

CLAIM = {
    "kind": "PersistentVolumeClaim",
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


@asynccontextmanager
async def _protecting(serving) -> AsyncIterator[None]:
    protection = asyncio.create_task(ClaimProtection(serving).run())
    try:
        yield
    finally:
        protection.cancel()
        with suppress(asyncio.CancelledError):
            await protection


async def _delete(serving, plural):
    resource = serving.registry.find("", "v1", plural)
    await delete(serving, resource, Key(plural, "n", "a"), DeleteOptions(grace_seconds=0))


async def _is_gone(serving):
    for _ in range(200):
        if serving.store.get(Key("persistentvolumeclaims", "n", "a")) is None:
            return True
        await asyncio.sleep(0.001)
    return False


def _pod(**spec):
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "a"}}, {"name": "w", "emptyDir": {}}]
    return {
        "kind": "Pod",
        "spec": {"containers": [{"name": "main", "image": "x"}], "volumes": volumes, **spec},
    }


@pytest.mark.parametrize(
    ("pod", "held"),
    [
        pytest.param(None, False, id="no-pod"),
        pytest.param(_pod(nodeName="n1"), True, id="on-a-node"),
        pytest.param(_pod(), False, id="waiting"),
        pytest.param(_pod(nodeName="n1", volumes=[]), False, id="without-it"),
    ],
)
def test_a_deleted_claim_waits_for_the_pods_that_use_it(tmp_path, pod, held):
    """It goes when the last of them does."""

    async def story():
        async with server_parts(tmp_path) as serving, _protecting(serving):
            await make(serving, "persistentvolumeclaims", CLAIM)
            if pod is not None:
                await make(serving, "pods", pod)
            await _delete(serving, "persistentvolumeclaims")
            assert await _is_gone(serving) is not held
            if held:
                await _delete(serving, "pods")
                assert await _is_gone(serving)

    asyncio.run(story())


def test_what_was_deleted_before_a_start_goes_after_it(tmp_path):
    """Nothing is forgotten in between."""

    async def story():
        async with server_parts(tmp_path) as serving:
            await make(serving, "persistentvolumeclaims", CLAIM)
            await _delete(serving, "persistentvolumeclaims")
            assert not await _is_gone(serving)
            async with _protecting(serving):
                assert await _is_gone(serving)

    asyncio.run(story())
