"""Runs a Task of Tenon from an activity of a workflow engine: created once for each idempotency key, then waited for.

An engine calls an activity again if it does not know how the call ended. The key makes the second call wait for the Task of the
first one, whatever has happened meanwhile: to this process, to the server on SOCKET, or to the worker.

    python3 tenon_task.py SOCKET KEY TYPE PAYLOAD
"""
import json
import socket
import sys
import time


class TaskFailed(Exception):
    """The Task has ended as failed. `code` is a code of `tenon reference errors`: the engine must not try again."""

    def __init__(self, error):
        super().__init__("%s: %s" % (error.get("code"), error.get("message")))
        self.code = error.get("code")


class CallFailed(Exception):
    """A call was refused. If `retryable`, a later one may succeed."""

    def __init__(self, error):
        super().__init__(error["message"])
        data = error.get("data") or {}
        self.code, self.retryable = data.get("code"), bool(data.get("retryable"))


def call(path, method, **params):
    """One method of a host (`tenon reference methods`): JSON-RPC 2.0, a message in a line."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(path)
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        connection.sendall(json.dumps(request).encode() + b"\n")
        for line in connection.makefile("rb"):
            message = json.loads(line)
            if message.get("id") == 1:
                if "error" in message:
                    raise CallFailed(message["error"])
                return message["result"]
    raise ConnectionError("the host has closed the connection")


def steps(path, key, task_type, payload):
    """Creates the Task, or finds the one that was created with the key. Then yields it again and again until it has ended: the
    caller decides how to wait between two of them, and reports to its engine that it is alive."""
    task, failures = None, 0
    while not task or task["state"] in ("queued", "running"):
        try:
            task = (call(path, "task/get", task_id=task["task_id"]) if task else
                    call(path, "task/create", task_type=task_type, payload=payload, idempotency_key=key))
            failures = 0
        except (OSError, ValueError, CallFailed) as error:  # the server restarts, for example
            failures += 1
            if failures == 60 or (isinstance(error, CallFailed) and not error.retryable):
                raise
        yield task


def result_of(task):
    if task["state"] == "failed":
        raise TaskFailed(task["error"] or {})
    return task["user_output"]


def run_task(path, key, task_type, payload, alive=lambda: None, pause_s=0.5):
    """The output of the Task. `alive` is called between two looks at it: a heartbeat."""
    for task in steps(path, key, task_type, payload):
        if task and task["state"] not in ("queued", "running"):
            return result_of(task)
        alive()
        time.sleep(pause_s)
    raise AssertionError


if __name__ == "__main__":
    print(run_task(sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])))
