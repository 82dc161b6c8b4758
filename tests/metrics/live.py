"""live.py ADDRESS PEERS ADMIN PROMETHEUS ADA README COLLECTOR: runs of the graph `look` (tests/e2e/metrics.sh), and what each side
sees of them. COLLECTOR is the path before /v1 at which the peers are the collector: "", or that of the host with contents.
With the packages of opentelemetry-proto, bodies for the collector are read by its JSON parser, which accepts no unknown member.
"""
import base64
import http.client
import json
import re
import sys
import time

ADDRESS, PEERS, ADMIN, PROMETHEUS, ADA, README, COLLECTOR = sys.argv[1:]
SECRET = "sk-provider-4711"  # one that the host knows; the provider and the tool send it, too
MARKER = "marigold-5521"  # in every message of a user
REMOTE = "b7ad6b7169203331"


def call(base, method, path, key=None, body=None, headers=None):
    connection = http.client.HTTPConnection(base.split("//")[1], timeout=60)
    sent = {"content-type": "application/json", **({"authorization": "Bearer " + key} if key else {}), **(headers or {})}
    connection.request(method, path, None if body is None else json.dumps(body), sent)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text, response


def say(graph, expected=200, **headers):
    body = {"model": graph, "messages": [{"role": "user", "content": f"{MARKER} {SECRET}"}]}
    status, text, response = call(ADDRESS, "POST", "/v1/chat/completions", ADA, body, headers)
    assert status == expected, (status, text)
    return response.getheader("x-request-id")


def got(path):
    return [(headers, body) for at, headers, body in json.loads(call(PEERS, "GET", "/got")[1]) if at == path]


def collected(kind):
    return got(f"{COLLECTOR}/v1/{kind}")


def wait_for(check):
    """The collector is behind: repeats the check for a minute."""
    deadline = time.monotonic() + 60
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < deadline, check
        time.sleep(0.05)


# ---- Spans ----

def spans():
    found = []
    for _, body in collected("traces"):
        for resource in body["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                found += scope["spans"]
    return found


def attributes(span):
    values = {}
    for attribute in span["attributes"]:
        (kind, value), = attribute["value"].items()
        values[attribute["key"]] = int(value) if kind == "intValue" else value
    assert len(values) == len(span["attributes"]), span
    return values


def trace_of(identity, root):
    """The spans of a complete trace, by id: the request is the last one to end."""
    def complete():
        found = [span for span in spans() if span["traceId"] == identity]
        return found if any(span["name"].startswith(root) for span in found) else None
    found = wait_for(complete)
    by_id = {span["spanId"]: span for span in found}
    assert len(by_id) == len(found), "an id is not unique"
    return by_id


def parent_of(trace, span):
    return trace.get(span.get("parentSpanId"))


def named(trace, name):
    return [span for span in trace.values() if span["name"] == name]


def check_tree(trace, parent):
    (request,) = named(trace, "POST /v1/chat/completions")
    assert request.get("parentSpanId") == parent and request["kind"] == 2, request
    (run,) = named(trace, "invoke_workflow look")
    assert parent_of(trace, run) is request
    (agent,) = named(trace, "invoke_agent assist")
    (step,) = named(trace, "step look")
    assert parent_of(trace, agent) is step and parent_of(trace, step) is run
    assert attributes(step)["tenon.step"] == 1 and attributes(step)["tenon.nodes"] == 1 and step["kind"] == 1, step
    inner = [span for span in trace.values() if span["name"].startswith("step ") and span is not step]
    assert inner and all(parent_of(trace, span) is agent for span in inner), inner
    models = named(trace, "chat gpt-test")
    assert len(models) == 2 and all(span["kind"] == 3 for span in models), models
    (tool,) = named(trace, "execute_tool fake.look")
    assert parent_of(trace, tool)["name"] == "node tools" and parent_of(trace, models[0])["name"] == "node agent", tool
    assert all(parent_of(trace, span) in inner for span in trace.values() if span["name"].startswith("node ")), inner
    for span in trace.values():
        assert set(span) <= {"traceId", "spanId", "parentSpanId", "traceState", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "status"}
        outer = parent_of(trace, span)
        if outer is not None and outer is not request:
            assert int(outer["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]) + 1000000, (outer, span)
        else:
            assert span is request or outer is request, span
    model = attributes(models[0])
    assert model["gen_ai.operation.name"] == "chat" and model["gen_ai.provider.name"] == "openai", model
    assert model["gen_ai.request.model"] == "gpt-test" and model["gen_ai.usage.input_tokens"] == 12, model
    assert attributes(tool)["gen_ai.tool.name"] == "fake.look" and attributes(agent)["gen_ai.agent.name"] == "assist"
    assert attributes(run)["gen_ai.usage.output_tokens"] == 6 and attributes(request)["http.response.status_code"] == 200
    return models, tool


def provider_headers(trace_id):
    return [headers["traceparent"] for headers, _ in got("/v1/chat/completions") if trace_id in headers.get("traceparent", "")]


def tool_metas(trace_id):
    calls = [body["params"]["_meta"] for _, body in got("/mcp") if body["method"] == "tools/call"]
    return [meta for meta in calls if trace_id in meta.get("traceparent", "")]


def check_sampled(trace_id="0af7651916cd43dd8448eb211c80319c"):
    """The client's trace: each side names the span that has called it."""
    say("look", traceparent=f"00-{trace_id}-{REMOTE}-01", tracestate="vendor=1")
    models, tool = check_tree(trace_of(trace_id, "POST"), REMOTE)
    assert sorted(provider_headers(trace_id)) == sorted(f"00-{trace_id}-{span['spanId']}-01" for span in models)
    (meta,) = tool_metas(trace_id)
    assert meta["traceparent"] == f"00-{trace_id}-{tool['spanId']}-01" and meta["tracestate"] == "vendor=1", meta
    assert all(headers.get("tracestate") == "vendor=1" for headers, _ in got("/v1/chat/completions") if trace_id in headers["traceparent"])
    return models, tool


def check_begun_here():
    """Without a trace of the client, and with a malformed one, the request begins one."""
    for header in [{}, {"traceparent": f"00-{'0' * 32}-{REMOTE}-01"}, {"traceparent": "ff-" + MARKER}]:
        before = {span["traceId"] for span in spans()}
        say("look", **header)
        (request,) = wait_for(lambda: [span for span in spans() if span["traceId"] not in before and span["name"].startswith("POST")])
        trace_id = request["traceId"]
        models, _ = check_tree(trace_of(trace_id, "POST"), None)
        assert sorted(provider_headers(trace_id)) == sorted(f"00-{trace_id}-{span['spanId']}-01" for span in models)


def check_not_sampled():
    """The flag of the client decides, and is sent to the provider; then a sampled trace comes, so nothing is missing."""
    trace_id, later = "1" * 32, "2" * 32
    say("look", traceparent=f"00-{trace_id}-{REMOTE}-00")
    say("error", 429, traceparent=f"00-{later}-{REMOTE}-01")
    trace = trace_of(later, "POST")
    assert not [span for span in spans() if span["traceId"] == trace_id]
    assert [header[-3:] for header in provider_headers(trace_id)] == ["-00", "-00"]
    (run,) = named(trace, "invoke_workflow error")
    assert run["status"]["code"] == 2 and attributes(run)["error.type"] == "RATE_LIMITED", run
    (model,) = named(trace, "chat scripted")
    assert model["status"] == {"code": 2, "message": "RATE_LIMITED"}, model


def check_retry():
    """A collector that is away for a moment gets the spans later."""
    call(PEERS, "POST", "/fail?2")
    trace_id = "3" * 32
    say("look", traceparent=f"00-{trace_id}-{REMOTE}-01")
    check_tree(trace_of(trace_id, "POST"), REMOTE)
    assert wait_for(lambda: len(got("failed")) == 2)


# ---- Prometheus ----

def read_text(text):
    """{(name, labels): value}, as the format's description has it."""
    kinds, values, family = {}, {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split(" ")[2]
            assert family not in kinds and re.fullmatch("tenon_[a-z0-9_]+", family), line
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == family and kind in ("counter", "gauge", "histogram"), line
            assert (kind == "counter") == name.endswith("_total"), line
            kinds[name] = kind
        else:
            name, labels, value = re.fullmatch(r'([a-z0-9_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)', line).groups()
            assert re.sub("_(bucket|sum|count)$", "", name) == family if kinds[family] == "histogram" else name == family, line
            key = (name, labels or "")
            assert key not in values, line
            values[key] = float(value)
    for (name, labels), value in values.items():
        if name.endswith("_bucket"):
            rest = re.sub(r',?le="[^"]*"$', "", labels)
            assert value <= values[(name[:-7] + "_count", rest)], (name, labels)
            if labels.endswith('le="+Inf"'):
                assert value == values[(name[:-7] + "_count", rest)], (name, labels)
    return values


def check_readme(text):
    """The README has what `host/metrics` reports; metrics_test compares the other table."""
    helps = dict(re.findall("^# HELP (\\S+) (.*)$", text, re.M))
    served = {(name, kind, helps[name]) for name, kind in re.findall("^# TYPE (\\S+) (.*)$", text, re.M)}
    with open(README) as file:
        tables = file.read().split("\n| metric | type | ")[1:]
    listed = [{tuple(row.replace("`", "").split(" | ")) for row in re.findall(r"^\| (`tenon_.*) \|$", table.split("\n\n")[0], re.M)}
              for table in tables]
    families, measured = ({(row[0], row[1], row[-1]) for row in table} for table in listed)
    assert served - families == measured, (served - families) ^ measured


def check_prometheus(looks, errors):
    assert call(ADDRESS, "GET", "/metrics")[0] == 401
    status, text, _ = call(ADDRESS, "GET", "/metrics", ADA)
    assert status == 403 and json.loads(text)["error"]["code"] == "PERMISSION_DENIED", text
    status, text, response = call(ADDRESS, "GET", "/metrics", PROMETHEUS)
    assert status == 200 and response.getheader("content-type").startswith("text/plain; version=0.0.4"), (status, text)
    values = read_text(text)
    check_readme(text)
    model = 'model="openai:gpt-test",operation="chat"'
    expected = {
        ("tenon_runs_total", 'graph="look",status="done"'): looks, ("tenon_runs_total", 'graph="error",status="failed"'): errors,
        ("tenon_run_duration_seconds_count", 'graph="look"'): looks,
        ("tenon_nodes_total", 'graph="look",node="assist",outcome="done"'): looks,
        ("tenon_model_calls_total", model + ',outcome="done",code=""'): 2 * looks,
        ("tenon_model_calls_total", 'model="scripted",operation="chat",outcome="failed",code="RATE_LIMITED"'): errors,
        ("tenon_model_tokens_sum", model + ',provider="openai",type="input"'): 24 * looks,
        ("tenon_model_tokens_sum", model + ',provider="openai",type="output"'): 6 * looks,
        ("tenon_model_cost_total", 'model="openai:gpt-test"'): 36 * looks,
        ("tenon_tool_calls_total", 'tool="fake.look",outcome="done",code=""'): looks,
        ("tenon_http_requests_total", 'method="POST",route="/v1/chat/completions",status="200"'): looks,
        ("tenon_http_requests_total", 'method="GET",route="/metrics",status="403"'): 1,
        ("tenon_telemetry_missed_total", ""): 0, ("tenon_loops", ""): 1}
    for key, value in expected.items():
        assert values.get(key) == value, (key, values.get(key), value)
    assert values[("tenon_process_memory_bytes", "")] > 1e6 and values[("tenon_process_cpu_seconds_total", "")] > 0
    assert values[("tenon_telemetry_spans_total", 'outcome="sent"')] > 0
    assert call(ADDRESS, "GET", "/metrics", ADMIN)[0] == 200
    with open("metrics.txt", "w") as file:
        file.write(text)


# ---- The collector ----

def with_base64(body):
    """Ids are hexadecimal in OTLP's JSON, and base64 in that of Protocol Buffers."""
    if isinstance(body, list):
        return [with_base64(item) for item in body]
    if not isinstance(body, dict):
        return body
    return {key: base64.b64encode(bytes.fromhex(value)).decode() if key in ("traceId", "spanId", "parentSpanId") else with_base64(value)
            for key, value in body.items()}


def check_bodies():
    exports = collected("traces") + collected("metrics")
    assert all(headers["authorization"] == "Bearer collector-4711" for headers, _ in exports)
    text = json.dumps([body for _, body in exports])
    for secret in (MARKER, "orchid-7319", "attic-4409", "lilac-8812", ADA, ADMIN, PROMETHEUS, "sk-provider-4711", "collector-4711"):
        assert secret not in text, secret
    resource = exports[0][1]["resourceSpans"][0]["resource"]
    assert attributes(resource) == {"service.name": "tests", "deployment.environment.name": 'a "test"'}
    try:
        from google.protobuf import json_format
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        return
    for _, body in collected("traces"):
        json_format.Parse(json.dumps(with_base64(body)), ExportTraceServiceRequest())
    for _, body in collected("metrics"):
        json_format.Parse(json.dumps(body), ExportMetricsServiceRequest())


def check_metrics(looks):
    def found():
        _, body = collected("metrics")[-1]
        metrics = {metric["name"]: metric for metric in body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]}
        points = metrics.get("gen_ai.client.operation.duration", {"histogram": {"dataPoints": []}})["histogram"]["dataPoints"]
        counts = {attributes(point)["gen_ai.request.model"]: int(point["count"]) for point in points}
        if counts.get("openai:gpt-test") != 2 * looks:
            return None
        assert metrics["gen_ai.client.token.usage"]["unit"] == "{token}"
        assert metrics["tenon.runs"]["sum"]["isMonotonic"] and metrics["tenon.runs"]["sum"]["aggregationTemporality"] == 2
        for point in points:
            assert sum(map(int, point["bucketCounts"])) == int(point["count"]) and len(point["bucketCounts"]) == len(point["explicitBounds"]) + 1
        return True
    wait_for(found)


def check_contents():
    """Messages, arguments and results are in the spans, but no secret that the host knows."""
    models, tool = check_sampled("4" * 32)
    first, last = sorted((attributes(span) for span in models), key=lambda model: len(model["gen_ai.input.messages"]))
    (user,) = [message for message in json.loads(first["gen_ai.input.messages"]) if message["role"] == "user"]
    assert user["parts"][0]["type"] == "text" and user["parts"][0]["content"].startswith(MARKER), user
    (asked,) = [part for part in json.loads(first["gen_ai.output.messages"])[0]["parts"] if part["type"] == "tool_call"]
    assert asked["name"] == "fake.look" and asked["arguments"]["where"] == "attic-4409", asked
    (answer,) = [part for message in json.loads(last["gen_ai.input.messages"]) for part in message["parts"] if part["type"] == "tool_call_response"]
    assert "lilac-8812" in json.dumps(answer["response"]), answer
    (output,) = json.loads(last["gen_ai.output.messages"])
    assert output == {"role": "assistant", "parts": [{"type": "text", "content": "It is orchid-7319."}]}, output
    assert json.loads(attributes(tool)["gen_ai.tool.call.arguments"])["where"] == "attic-4409"
    assert "lilac-8812" in attributes(tool)["gen_ai.tool.call.result"]
    text = json.dumps([body for _, body in collected("traces")])
    for secret in (SECRET, ADA, "collector-4711"):
        at = text.find(secret)
        assert at < 0, text[max(0, at - 300):at + 300]


if COLLECTOR:
    check_contents()
else:
    check_sampled()
    check_begun_here()
    check_not_sampled()
    check_retry()
    check_prometheus(looks=6, errors=1)
    check_metrics(looks=6)
    check_bodies()
print(len(spans()), "spans")
