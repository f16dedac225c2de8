"""Who makes a request, and to whom they are bound."""

import secrets

import pytest

from holdfast import Configuration, Holdfast
from holdfast.domain.access import Principal
from holdfast.server import SharedSecret


@pytest.mark.parametrize("tenant", ["", "*"])
def test_nobody_is_bound_to_what_stands_for_all_tenants_or_none(tenant: str) -> None:
    with pytest.raises(Configuration, match="no tenant"):
        Principal("ann", frozenset(), tenant)
    with pytest.raises(Configuration, match="no tenant"):
        Holdfast().webhook(
            "shop", verify=SharedSecret(secrets.token_urlsafe(32)), on={"*": print}, tenant=tenant
        )
