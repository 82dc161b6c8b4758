"""Claude on Vertex: addresses, bodies, tokens and their renewal, errors, and where tokens are not sent."""
import json
import os
import tempfile

import drive as d

drive = d.Drive("anthropic")
EVENTS = [
    {"type": "message_start", "message": {"id": "m", "model": "claude", "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Grüß"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]
WHOLE = {"id": "m", "model": "claude", "content": [{"type": "text", "text": "Grüß"}], "stop_reason": "end_turn",
         "usage": {"input_tokens": 3, "output_tokens": 2}}
STREAM = {"stream": "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS),
          "headers": {"content-type": "text/event-stream"}}
ON = {"model": "claude-sonnet-4-5@20250929", "project": "p1", "location": "us-east5"}


def token(text, life=3600):
    return {"body": json.dumps({"access_token": text, "expires_in": life, "token_type": "Bearer"})}


def case(*exchanges, config=None, **more):
    return {"component": "anthropic", "config": config or ON, "input": {"messages": ["Hi"]}, "exchanges": list(exchanges), **more}


def test_requests():
    streamed, whole = drive([case(token("t1"), STREAM, cuts=True),
                             case(token("t1"), {"body": json.dumps(WHOLE)}, config={**ON, "stream": False, "beta": ["b-1"]})])
    for name, result, method in (("stream", streamed, "streamRawPredict"), ("whole", whole, "rawPredict")):
        if not d.check(len(result.get("requests", [])) == 2, f"{name}: {result}"):
            continue
        first, second = result["requests"]
        d.check(first["private"] == "google-access-token" and first["url"] == "https://oauth2.googleapis.com/token", f"{first}")
        d.check(second["url"] == "https://us-east5-aiplatform.googleapis.com/v1/projects/p1/locations/us-east5/publishers/anthropic/"
                f"models/claude-sonnet-4-5@20250929:{method}", f"{name}: {second['url']}")
        body, headers = second["json"], second["headers"]
        d.check("model" not in body and body["anthropic_version"] == "vertex-2023-10-16", f"{name}: {body}")
        d.check(body.get("stream", False) == (name == "stream") and body["messages"][0]["role"] == "user", f"{name}: {body}")
        d.check(headers["authorization"] == "Bearer t1" and headers["x-goog-user-project"] == "payer", f"{name}: {headers}")
        d.check("x-api-key" not in headers and "anthropic-version" not in headers, f"{name}: {headers}")
        d.check(headers.get("anthropic-beta") == ("b-1" if name == "whole" else None), f"{name}: {headers}")
        d.check(result["output"]["message"]["content"] == "Grüß", f"{name}: {result['output']}")
        d.check(result["output"]["usage"] == {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}, f"{name}: {result['output']}")
    d.check_cuts("stream", streamed)


def test_renewal():
    refused = {"status": 401, "body": '{"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "expired"}}'}
    result = drive([case(token("t1"), refused, token("t2"), STREAM)])[0]
    sent = [one["headers"].get("authorization") for one in result["requests"]]
    d.check(sent == [None, "Bearer t1", None, "Bearer t2"] and "output" in result, f"renewed: {sent} {result.get('error')}")
    result = drive([case(token("t1"), refused, token("t2"), refused)])[0]
    error = result["error"]
    d.check(error["code"] == "AUTH" and len(result["requests"]) == 4 and "UNAUTHENTICATED" in error["message"], f"refused twice: {error}")
    d.check("t2" not in json.dumps(error), f"a token is shown: {error}")
    d.check("\"expired\"; check the credentials for Vertex" in error["message"] and "ANTHROPIC_API_KEY" not in json.dumps(error), f"what was refused: {error}")


def test_errors():
    cases = [(403, {"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "no"}}, "AUTH", "PERMISSION_DENIED"),
             (404, [{"error": {"code": 404, "status": "NOT_FOUND", "message": "Publisher Model was not found"}}], None, "was not found"),
             (429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota exceeded"}}, "RATE_LIMITED", "Quota exceeded"),
             (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 1"}}, "CONTEXT_LENGTH",
              "too long"),
             (529, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, "OVERLOADED", "busy")]
    results = drive([case(token("t1"), {"status": status, "body": json.dumps(body)}) for status, body, _, _ in cases])
    for (status, _, code, words), result in zip(cases, results):
        error = result.get("error") or {}
        d.check((code is None or error.get("code") == code) and words in json.dumps(error), f"{status}: {error}")
    result = drive([case({"status": 400, "body": '{"error": "invalid_grant"}'})])[0]
    error = result["error"]
    d.check(error["code"] == "AUTH" and error["message"].startswith("anthropic: Google returned no access token"), f"{error}")
    result = drive([case({"failed": {"code": "CONNECT", "message": "m"}})])[0]
    d.check(result["error"]["code"] == "CONNECT", f"{result}")


def test_addresses():
    hosts = [({"location": "global"}, "https://aiplatform.googleapis.com/v1/projects/p1/locations/global/"),
             ({"location": None}, "https://aiplatform.googleapis.com/v1/projects/p1/locations/global/"),
             ({"location": "eu"}, "https://aiplatform.eu.rep.googleapis.com/v1/projects/p1/locations/eu/"),
             ({"base_url": "https://api.anthropic.com/v1"}, "https://us-east5-aiplatform.googleapis.com/v1/projects/p1/"),
             ({"base_url": "https://x.googleapis.com/v1/"}, "https://x.googleapis.com/v1/projects/p1/locations/us-east5/")]
    for change, expected in hosts:
        config = {key: value for key, value in {**ON, **change}.items() if value is not None}
        result = drive([case(token("t1"), STREAM, config=config)])[0]
        d.check(result["requests"][-1]["url"].startswith(expected), f"{change}: {result['requests'][-1]['url']}")
    for change in ({"base_url": "https://evil.example/v1"}, {"base_url": "https://x.googleapis.com@evil.example"}, {"model": "a/b"},
                   {"model": "a:b"}, {"model": "../x"}, {"project": "a/b"}, {"location": "a/b"}, {"location": "x" * 250}):
        result = drive([case(config={**ON, **change})])[0]
        d.check("refused" in result, f"{change}: {result}")
    section = {"project": "p2", "location": "europe-west1", "vertex_url": "http://gateway.example/v1/"}
    for config, expected in (({"model": "claude"}, "http://gateway.example/v1/projects/p2/locations/europe-west1/"),
                             (ON, "http://gateway.example/v1/projects/p1/locations/us-east5/"),
                             ({"model": "claude", "api_key": "k"}, "https://api.anthropic.com/v1/messages")):
        exchanges = [STREAM] if "api_key" in config else [token("t1"), STREAM]
        result = drive([case(*exchanges, config=config, section=section)])[0]
        d.check(result["requests"][-1]["url"].startswith(expected), f"{config}: {result['requests'][-1]['url']}")
    # Without a project nothing changes.
    result = drive([case(STREAM, config={"model": "claude"})])[0]
    request = result["requests"][0]
    d.check(request["url"] == "https://api.anthropic.com/v1/messages" and request["headers"]["anthropic-version"] == "2023-06-01", f"{request}")


def test_cancel_and_memory():
    result = drive([case({"hangs": True}, config=ON)])[0]
    d.check(result.get("open"), f"a hanging token endpoint: {result}")
    whole = {"body": json.dumps(WHOLE)}
    result = drive([case(token("t1"), whole, config={**ON, "stream": False}, fail_allocations=True)])[0]
    codes = result["allocation_failures"]
    d.check(set(codes) <= {"LIMIT", "INVALID_REQUEST", "CREATE", "SAME", "AUTH", "INVALID_RESPONSE", str(d.NO_MEMORY)}, f"{codes}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "credentials.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r",
                       "quota_project_id": "payer"}, file)
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = path
        os.environ.pop("VERTEX_LOCATION", None)
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test()
    d.finish()


if __name__ == "__main__":
    main()
