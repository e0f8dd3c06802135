import pytest

from contract.storage.implementations import IMPLEMENTATIONS


@pytest.fixture(params=IMPLEMENTATIONS, ids=lambda implementation: implementation.name)
def implementation(request):
    return request.param


@pytest.fixture
def opened(implementation, tmp_path):
    """Opens a store of the implementation under test; the same one again after it is closed."""
    return lambda **settings: implementation.open(tmp_path, **settings)
