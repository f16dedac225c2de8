"""A shop's jobs, with Holdfast's own decorator."""

from django.db import connection

from holdfast import Context, Holdfast
from world.shop.models import Order

app = Holdfast()


def server_process() -> int:
    """Ask PostgreSQL which of its processes serves this thread's connection."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_backend_pid()")
        return int(cursor.fetchone()[0])


@app.task(retries=0)
def ship(order_id: int) -> int:
    """Write with the ORM, in a thread."""
    Order.objects.filter(id=order_id).update(note="shipped")
    return server_process()


@app.task(retries=0)
async def bill(ctx: Context, order_id: int) -> str:
    """Write with the ORM, on the event loop."""
    order = await Order.objects.aget(id=order_id)
    order.note = f"billed by attempt {ctx.attempt}"
    await order.asave()
    return str(order.note)
