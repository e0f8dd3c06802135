"""A new namespace on a bed, ready for pods."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from contract.engine.engine_api import Api
from contract.engine.engine_beds import Bed, await_default_account
from contract.engine.engine_place import Place


@contextmanager
def fresh_place(bed: Bed) -> Iterator[Place]:
    """The namespace lasts as long as the bed."""
    client = bed.server.client()
    namespace = f"t-{secrets.token_hex(4)}"
    Api(client).create("Namespace", namespace)
    place = Place(bed=bed, api=Api(client, namespace))
    await_default_account(place.api)
    yield place
    client.close()
