"""An app with executors, for tests of the command line."""

from holdfast import Context, GitHubActions, Holdfast, HttpExecutor

app = Holdfast()
app.executor(GitHubActions("acme", "agents", "provision.yml"))
app.executor(HttpExecutor("https://ci.example", name="ci", secret="hfx_" + "4b1d97c02ea8f653" * 4))


@app.task()
async def provision(ctx: Context) -> None:
    await ctx.dispatch("github")
