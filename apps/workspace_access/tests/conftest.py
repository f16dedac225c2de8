"""The product, ready to be used, in a database of the test's own."""

from collections.abc import AsyncIterator

import pytest

from apps.workspace_access.app import app, prepare
from apps.workspace_access.tests.product import Product
from holdfast.testing import ScratchDatabase


@pytest.fixture
async def product(holdfast_db: ScratchDatabase, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Product]:
    """Give the product with its tables."""
    monkeypatch.delenv("ADVISOR_AUTO_PROVISION", raising=False)
    holdfast_db.create_schema("workspace_access")
    holdfast_db.use(app)
    prepare()
    product = Product(holdfast_db)
    yield product
    await product.http.aclose()
    await app.aclose()
