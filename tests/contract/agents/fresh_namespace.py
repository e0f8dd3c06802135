"""A new namespace on a bed, ready for pods."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from contract.engine.engine_api import Api
from contract.engine.engine_beds import Bed, await_default_account
from contract.engine.engine_namespace import EngineNamespace


@contextmanager
def fresh_namespace(bed: Bed) -> Iterator[EngineNamespace]:
    """The namespace lasts as long as the bed."""
    client = bed.server.client()
    namespace = f"t-{secrets.token_hex(4)}"
    Api(client).create("Namespace", namespace)
    result = EngineNamespace(bed=bed, api=Api(client, namespace))
    await_default_account(result.api)
    yield result
    client.close()
