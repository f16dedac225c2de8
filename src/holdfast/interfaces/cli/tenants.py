"""`holdfast tenant`: whose turn counts more."""

import click

from holdfast.interfaces.cli.commands import Command, Group
from holdfast.interfaces.cli.invocation import current
from holdfast.interfaces.cli.output import Column, emit, emit_one, plain


@click.group(cls=Group)
def tenant() -> None:
    """List and set the weights of tenants."""


@tenant.command("list", cls=Command)
def list_() -> None:
    """List the tenants whose weight is not 1."""
    from holdfast.store.tenants import tenant_weights

    found = current().link.perform_once(tenant_weights())
    emit(
        [{"name": each.tenant, "weight": each.weight} for each in found],
        [Column("TENANT"), Column("WEIGHT", "right")],
        [[plain(each.tenant), str(each.weight)] for each in found],
        "every tenant has the weight 1; set another with: holdfast tenant weight NAME N",
    )


@tenant.command(cls=Command)
@click.argument("name")
@click.argument("weight", type=click.IntRange(1, 1000))
def weight(name: str, weight: int) -> None:
    """Give a tenant WEIGHT jobs, 1 to 1000, for every one that another tenant gets."""
    from holdfast.store.tenants import set_tenant_weight

    current().link.perform(set_tenant_weight(name, weight))
    emit_one({"name": name, "weight": weight}, [f"tenant {plain(name)} has the weight {weight}"])
