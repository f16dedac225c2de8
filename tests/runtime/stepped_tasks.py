"""Tasks with steps that run in child processes."""

from holdfast import Context, Delays, Holdfast, SyncContext

app = Holdfast()


@app.task(executor="process", backoff=Delays([0]))
async def stepped(ctx: Context) -> list[int]:
    first = await ctx.step("first", lambda: ctx.attempt)
    if ctx.attempt == 1:
        raise RuntimeError("between the steps")
    return [first, await ctx.step("second", lambda: ctx.attempt)]


@app.task(executor="process", backoff=Delays([0]))
def stepped_sync(ctx: SyncContext) -> list[int]:
    first = ctx.step("first", lambda: ctx.attempt)
    if ctx.attempt == 1:
        raise RuntimeError("between the steps")
    return [first, ctx.step("second", lambda: ctx.attempt)]
