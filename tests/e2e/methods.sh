# Programs use tenon.host by the component protocol, and break it; a plugin that needs methods passes `tenon plugin check`.
command -v python3 >/dev/null || skips "python3 is not installed"

# ---- A program ----
cat >asks.py.tenon.json <<'J'
{"plugin": {"id": "test.asks", "version": "1.0.0", "title": "Calls methods", "licence": "MIT", "requires": ["tenon.host/1"],
  "effects": ["host.method:component/list", "host.method:run/*"]},
 "components": [{"kind": "tool", "id": "test.asks", "title": "Calls methods as `how` says", "style": "async",
  "effects": ["host.method:component/list", "host.method:run/*"],
  "input": {"type": "object", "properties": {"how": {"type": "string"}}, "required": ["how"]}}]}
J
cat >asks.py <<'PYTHON'
#!/usr/bin/env -S python3 -IS
import json, socket, sys

wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=3)
stream = wire.makefile("rb")
delay = ("version: '1.0'\nagent: {name: d}\nnodes: [{id: a, type: delay, config: {ms: 600000}}]\n"
         "edges: [{from: START, to: a}, {from: a, to: END}]\n")
counts = ("version: '1.0'\nagent: {name: c, recursion_limit: 500}\nchannels: [{name: i, type: last_value, default: 0}]\n"
          "nodes: [{id: add, type: set, config: {values: {i: state.i + 1}}}]\nedges:\n  - {from: START, to: add}\n"
          "  - {from: add, type: conditional, conditions: [{expression: state.i < 200, to: add}, {expression: default, to: END}]}\n")
sample = {"kind": "runner"}

def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    wire.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)

def say(verb, **params):
    send({"method": verb, "params": params})

def receive():
    line = stream.readline()
    if not line:
        sys.exit(0)
    stream.readline()
    return json.loads(stream.read(int(line.split(b":")[1])))

def expect(method):
    message = receive()
    if message["method"] != method:
        raise Exception(message)
    return message["params"]

calls = 0
def call(task, method, given):
    global calls
    calls += 1
    say("call", task=task, call=calls, operation="method:" + method, input=given)
    return expect("called")

def start_run(task, text, **more):
    return call(task, "run/start", {"text": text, **more})["output"]["run_id"]

def request(method, given):
    say("host_request", request=7, method=method, params=given)
    return expect("host_ended")

def act(task, how):
    if how == "call":
        return call(task, "component/list", sample)
    if how == "call-unknown":
        return call(task, "no/such", sample)
    if how == "call-near":
        return call(task, "run/strat", sample)
    if how == "call-operation":
        say("call", task=task, call=0, operation="no.such")
        return expect("called")
    if how == "call-denied":
        return call(task, "host/info", {})
    if how == "request":
        return request("component/list", sample)
    if how == "request-unknown":
        return request("no/such", {})
    if how == "request-number":
        return request(5, {})
    if how == "request-denied":
        return request("host/info", {})
    if how == "request-deep":
        deep = 1
        for _ in range(300):
            deep = [deep]
        return request("component/list", deep)
    if how == "request-twice":
        run = start_run(task, delay)
        for _ in range(2):
            say("host_request", request=1, method="run/wait", params={"run_id": run})
        return expect("host_ended")
    if how.startswith("number "):
        say("host_request", request=json.loads(how[7:]), method="component/list", params=sample)
        return expect("host_ended")
    if how.startswith("subscription "):
        say("host_subscribe", subscription=json.loads(how[13:]), params={"run_id": start_run(task, delay)})
        return expect("host_ended")
    if how == "cancel":
        run = start_run(task, delay)
        say("host_request", request=1, method="run/wait", params={"run_id": run})
        say("host_cancel", request=1)
        say("host_cancel", request=2)
        call(task, "run/cancel", {"run_id": run})
        return call(task, "component/list", sample)
    if how == "subscribe-unknown":
        say("host_subscribe", subscription=3, params={"run_id": "none"})
        return expect("host_ended")
    if how == "subscribe-twice":
        for _ in range(2):
            say("host_subscribe", subscription=1, params={"run_id": start_run(task, delay)})
        return expect("host_ended")
    if how == "credit":
        say("host_subscribe", subscription=1, params={"run_id": start_run(task, delay), "modes": ["updates"]})
        say("host_credit", subscription=1, events=1)
        return expect("host_ended")
    # The run waits while there is no credit.
    run = start_run(task, counts, modes=["updates"])
    say("host_subscribe", subscription=1, params={"run_id": run, "after": 0, "modes": ["updates"]})
    events = [expect("host_event") for _ in range(64)]
    call(task, "component/list", sample)  # no event before its answer
    ended = None
    while not ended:
        say("host_credit", subscription=1, events=64)
        for _ in range(64):
            message = receive()
            if message["method"] == "host_ended":
                ended = message["params"]
                break
            events.append(message["params"])
    say("host_unsubscribe", subscription=1)
    first, last = events[0], events[-1]
    return {"events": len(events), "first": first["event"], "last": last["event"],
            "numbers": [first["subscription"], last["params"]["subscription"]], "ended": ended}

while True:
    message = receive()
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        result = {"protocol": params["protocol"], "plugin": "test.asks", "version": "1.0.0"}
        send({"id": message["id"], "result": result})
    elif method == "create":
        send({"id": message["id"], "result": {"reads": [], "writes": [], "calls": []}})
    elif method == "start":
        say("complete", task=params["task"], output=act(params["task"], params["input"]["how"]))
    elif method == "exit":
        sys.exit(0)
    elif "id" in message:
        send({"id": message["id"], "result": None})
PYTHON
chmod +x asks.py
printf 'store: {use: memory}\n' >tenon.yaml

asks() { run tenon tool call test.asks "{\"how\": \"$1\"}" --plugins "$PWD/asks.py"; }
# answers HOW TEXT…: the result contains each of them
answers() {
    asks "$1"
    expect_code 0
    for text in "${@:2}"; do expect_in out "$text"; done
}
# dies HOW TEXT: the host has killed the process
dies() {
    asks "$1"
    expect_in err "PLUGIN_CRASHED"
    expect_in err "$2"
}
answers call '"components":[]'
answers call-unknown NOT_FOUND 'there is no method `no/such`; `tenon reference methods`'
answers call-near NOT_FOUND 'there is no method `run/strat`; did you mean `run/start`?'
answers call-operation NOT_FOUND 'there is no operation `no.such`; expected `method:NAME`'
answers call-denied PERMISSION_DENIED 'host.method:host/info'
answers request '"request":7' '"result":{"components":[]}'
answers request-unknown NOT_FOUND 'there is no method `no/such`'
answers request-number INVALID_INPUT '`method` must be the name of a method'
answers request-denied PERMISSION_DENIED 'effects` of the plugin'
answers request-deep '"request":7' LIMIT
answers cancel '"components":[]'
answers subscribe-unknown '"subscription":3' NOT_FOUND
answers events '"events":201' '"first":"run/event"' '"last":"run/ended"' '"numbers":[1,1]' '"ended":{"subscription":1}'
dies request-twice "two requests with the same number"
dies subscribe-twice "two subscriptions with the same number"
for number in 0 -1 1.5 18446744073709551615 null; do
    dies "number $number" "a request whose number is not an integer from 1"
done
dies "subscription 0" "a subscription whose number is not an integer from 1"
dies credit "more credit for the events of a subscription"

# ---- `tenon plugin check` ----
# It refuses to work without methods, as many plugins would. The host in which it is checked has them.
cat >needs.c <<'C'
#include <tenon/easy.h>
#include <tenon/host.h>
TN_PLUGIN("test.needs", "1.0.0", "Needs methods")
TN_NOTE("{\"plugin\":{\"requires\":[\"" TN_HOST_1 "\"],\"licence\":\"MIT\",\"effects\":[\"host.method:event/subscribe\","
        "\"host.method:component/list\"]}}")
static const tn_host_1 *methods;
static uint64_t subscription;
static void TN_ABI on_event(void *user, int32_t status, tn_value value) { (void)user, (void)status, (void)value; }
static int32_t TN_ABI init(void *self, tn_value config) {
    uint64_t request;
    (void)self, (void)config;
    methods = tn_easy_interface(tn.host, TN_HOST_1, sizeof(tn_host_1));
    tn_value params = tn_from_json("{\"events\":[\"component/changed\"]}", TN_Z);
    int32_t status = methods->subscribe(tn.host, params, on_event, NULL, &subscription);
    tn_release(params);
    if (status == TN_OK) status = methods->request(tn.host, "component/list", TN_Z, NULL, on_event, NULL, &request);
    return status;
}
TN_LIFECYCLE(init, NULL, NULL)
TN_TOOL(count, "needs.count", "Counts what it is asked for", TN_PURE, (TEXT, kind, "of what")) {
    static int64_t runs;
    return tn_done_int(task, IMPURE ? ++runs : (int64_t)args->kind_length);
}
C
for impure in 0 1; do
    "${CC:-cc}" -DIMPURE=$impure -shared -fPIC -O1 -fvisibility=hidden -I"$SOURCE/sdk/include" \
        -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o needs$impure.so needs.c 2>"$work/log" ||
        { cat "$work/log" >&2; fails "needs.c does not compile"; }
done
# An operator sees what the plugin may call outside of tasks.
run tenon plugin show ./needs0.so
expect_code 0
expect_in out 'effects    ["host.method:event/subscribe","host.method:component/list"]'
expect_in out 'of the plugin, in addition to those of its components: for requests and subscriptions'
run tenon plugin check needs0.so --seed 1 --timeout 60
expect_code 0
expect_in err "0 errors, 1 warning" # a component without documentation
run tenon plugin check needs1.so --seed 1 --timeout 60 # its components are run, so this defect is found
expect_code 4
expect_in err "error[IMPURE]"
