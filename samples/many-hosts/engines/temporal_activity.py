"""Temporal (PyPI temporalio): a Task of Tenon as an activity. The workflow names the timeouts and the retries."""
import asyncio

from temporalio import activity
from temporalio.exceptions import ApplicationError

from tenon_task import TaskFailed, result_of, steps

SOCKET = "/run/tenon/tenon.sock"


@activity.defn(name="tenon_report")
async def report(text: str) -> str:
    info = activity.info()
    # Equal in every attempt of this activity, and in no other one.
    key = "%s/%s/%s" % (info.workflow_id, info.workflow_run_id, info.activity_id)
    looks = steps(SOCKET, key, "report", {"text": text})
    while True:
        task = await asyncio.to_thread(next, looks)
        if task and task["state"] not in ("queued", "running"):
            try:
                return result_of(task)
            except TaskFailed as error:
                raise ApplicationError(str(error), type=error.code, non_retryable=True) from error
        activity.heartbeat(task and task["task_id"])
        await asyncio.sleep(0.5)
