"""Tenants: how many jobs each gets in its turn."""

from typing import NamedTuple

from holdfast.store.call import Call, function, nothing, query


class Weight(NamedTuple):
    """How many jobs a tenant gets in its turn; every tenant that has none gets one."""

    tenant: str
    weight: int


def set_tenant_weight(tenant: str, weight: int) -> Call[None]:
    """Say how many jobs a tenant gets in its turn."""
    return function("set_tenant_weight", tenant, weight, read=nothing, types=("text", "int"))


def tenant_weights() -> Call[list[Weight]]:
    """List the tenants whose weight is not 1."""
    return query("tenant_weights", lambda rows: [Weight(*row) for row in rows])
