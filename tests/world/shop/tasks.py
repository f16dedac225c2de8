"""A shop's tasks, with Django's own decorator."""

from typing import Any

from django_tasks import TaskContext, task

from holdfast import Retry
from world.shop.models import Order


@task
def pack(order_id: int, note: str = "packed") -> dict[str, Any]:
    """Write with the ORM."""
    Order.objects.filter(id=order_id).update(note=note)
    return {"order": order_id, "note": note}


@task(priority=7, queue_name="slow")
async def weigh(order_id: int) -> str:
    """Read with the ORM, on the event loop."""
    order = await Order.objects.aget(id=order_id)
    return f"{order.note} weighs 3 kg"


@task(takes_context=True)
def count(context: TaskContext, /, *words: str, **marks: int) -> list[Any]:
    """Tell what it was called with."""
    return [context.attempt, context.task_result.id, list(words), marks]


@task
def lose(reason: str) -> None:
    """Fail."""
    raise LookupError(reason)


@task(backend="patient", takes_context=True)
def lose_once(context: TaskContext) -> int:
    """Fail at first."""
    if context.attempt == 1:
        raise Retry("not yet", in_=30)
    return context.attempt
