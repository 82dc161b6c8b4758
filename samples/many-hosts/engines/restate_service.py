"""Restate (PyPI restate-sdk): a Task of Tenon as a durable step of a handler."""
import asyncio

import restate
from restate.exceptions import TerminalError

from tenon_task import TaskFailed, run_task

SOCKET = "/run/tenon/tenon.sock"
reports = restate.Service("reports")


@reports.handler()
async def report(ctx: restate.Context, text: str) -> str:
    # The key is saved before the Task is created, so that every attempt of the handler has the same one.
    key = await ctx.run("key", lambda: ctx.request().id.hex())

    async def handle():
        try:
            return await asyncio.to_thread(run_task, SOCKET, key, "report", {"text": text})
        except TaskFailed as error:
            raise TerminalError(str(error)) from error

    return await ctx.run("report", handle)
