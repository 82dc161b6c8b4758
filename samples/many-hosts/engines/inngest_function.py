"""Inngest (PyPI inngest): a Task of Tenon as a step of a function. Each look at the Task is a separate step, and the function
sleeps between them, so it is not limited by the time of a request."""
import datetime

import inngest

from tenon_task import TaskFailed, call, result_of

SOCKET = "/run/tenon/tenon.sock"
client = inngest.Inngest(app_id="reports")


@client.create_function(fn_id="report", trigger=inngest.TriggerEvent(event="report/requested"))
def report(ctx: inngest.ContextSync) -> str:
    def create():
        return call(SOCKET, "task/create", task_type="report", payload={"text": ctx.event.data["text"]}, idempotency_key=ctx.run_id)

    task, looks = ctx.step.run("create", create), 0
    while task["state"] in ("queued", "running"):
        looks += 1
        ctx.step.sleep("sleep-%d" % looks, datetime.timedelta(seconds=min(looks, 60)))
        task = ctx.step.run("look-%d" % looks, lambda: call(SOCKET, "task/get", task_id=task["task_id"]))
    try:
        return result_of(task)
    except TaskFailed as error:
        raise inngest.NonRetriableError(str(error)) from error
