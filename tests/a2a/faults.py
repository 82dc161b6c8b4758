"""The host is killed, and ends with a signal, while a client reads a stream: the client subscribes again, and has every
part of the artifact once. Notifications continue, too."""
import signal
from wire import AGENT, message
import push


class Reader:
    """A client that builds the artifact of a task from what it receives, as the protocol says."""

    def __init__(self):
        self.task, self.texts, self.state = None, [], None

    def read(self, event):
        if "task" in event:  # what comes first
            self.task, self.state = event["task"]["id"], event["task"]["status"]["state"]
            self.texts = [part["text"] for artifact in event["task"].get("artifacts", []) for part in artifact["parts"]]
        elif "statusUpdate" in event:
            self.state = event["statusUpdate"]["status"]["state"]
        else:
            update = event["artifactUpdate"]
            parts = [part["text"] for part in update["artifact"]["parts"]]
            self.texts = self.texts + parts if update["append"] else parts


def check(host, hook):
    """Three hosts, one task: `chunk_1`, a node that rests for 4 seconds, `chunk_2`, the rest again. The host continues the
    task itself: the third one has made `chunk_2` before the client comes, or makes it afterwards."""
    reader = Reader()
    configuration = {"taskPushNotificationConfig": push.config(hook, "/faults")}
    stream = host.stream(AGENT + "/message:stream", {**message("test-steps"), "configuration": configuration})
    for event in stream:
        reader.read(event)
        if "artifactUpdate" in event:
            break
    assert reader.texts == ["chunk-1 "], reader.texts
    hook.wait("/faults", lambda received: "chunk-1 " in push.states(received))  # what was not sent is lost with the host
    host.end(signal.SIGKILL)
    for event in stream:
        reader.read(event)
    assert reader.texts == ["chunk-1 "] and reader.state == "TASK_STATE_WORKING", vars(reader)
    yield  # the second host

    stream = host.stream(f"{AGENT}/tasks/{reader.task}:subscribe")
    reader.read(next(stream))
    assert reader.texts == ["chunk-1 "] and reader.state in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"), vars(reader)
    assert host.end(signal.SIGTERM) == 0
    for event in stream:
        reader.read(event)
    assert reader.texts == ["chunk-1 "] and reader.state == "TASK_STATE_WORKING", vars(reader)
    yield  # the third host

    for event in host.stream(AGENT, {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": reader.task}}):
        reader.read(event["result"])
    assert reader.texts == ["chunk-1 ", "chunk-2"] and reader.state == "TASK_STATE_COMPLETED", vars(reader)
    received = push.states(hook.wait("/faults", push.ended))
    assert [one for one in received if one != "WORKING"] == ["chunk-1 ", "chunk-2", "COMPLETED"], received
