# ---- The component protocol ------------------------------------------------------------------------------------------

PLUGIN, VERSION, PROTOCOL = "@ID@", "0.1.0", "tenon.component-protocol/1-draft.1"
CHUNKS = 64  # a task may emit this many chunks before it needs credit


class Failure(Exception):
    """Fails the task: a code in upper case and a message."""

    def __init__(self, code, message):
        super().__init__(message)
        self.error = {"code": code, "message": message}


class Task:
    """A running task. Its component is `blocking`: this process runs one at a time."""

    def __init__(self, number, input=None, reads=None, context=None, **_):
        self.number, self.input, self.context = number, input, context or {}
        self.reads, self.writes, self.credit = reads or {}, [], CHUNKS

    def read(self, channel):
        return self.reads.get(channel)

    def write(self, channel, value):
        self.writes.append([channel, value])

    def emit(self, chunk):
        while self.credit == 0:
            message = receive()
            params = message.get("params") or {}
            if params.get("task") != self.number or message["method"] not in ("credit", "cancel"):
                waiting.append(message)
            elif message["method"] == "cancel":
                raise Failure("CANCELLED", "the task was cancelled")
            else:
                self.credit += params["chunks"]
        self.credit -= 1
        notify("emit", task=self.number, chunk=chunk)

    def run(self, instance):
        try:
            output = instance.run(self)
            notify("complete", task=self.number, writes=self.writes, **({} if output is None else {"output": output}))
        except Failure as failure:
            notify("fail", task=self.number, error=failure.error)
        except Exception as error:  # a defect of the plugin costs one task
            message = f"{type(error).__name__}: {error}"
            notify("fail", task=self.number, error={"code": "EXCEPTION", "message": message})


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
    wire.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)


def notify(method, **params):
    send({"method": method, "params": params})


def receive():
    length = 0
    while line := incoming.readline().strip():
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    if length == 0:
        sys.exit(0)  # the host has closed the connection
    return json.loads(incoming.read(length))


def answer(method, params):
    if method == "initialize":
        return {"protocol": PROTOCOL, "plugin": PLUGIN, "version": VERSION}
    if method == "create":
        instance = instances[params["instance"]] = COMPONENTS[params["component"]](params["config"])
        return {"reads": instance.reads, "writes": instance.writes, "calls": []}
    return None  # shutdown


def main():
    while True:
        message = waiting.pop(0) if waiting else receive()
        method, params = message["method"], message.get("params") or {}
        if method == "exit":
            sys.exit(0)
        elif "id" in message:
            try:
                send({"id": message["id"], "result": answer(method, params)})
            except Failure as failure:  # of a constructor: the configuration is refused
                error = {"code": -32000, "message": str(failure), "data": failure.error}
                send({"id": message["id"], "error": error})
        elif method == "start":
            Task(params.pop("task"), **params).run(instances[params["instance"]])
        elif method == "destroy":
            instances.pop(params["instance"], None)


wire = socket.socket(fileno=3)
incoming = wire.makefile("rb")
instances, waiting = {}, []
main()
