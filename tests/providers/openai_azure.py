"""Azure with tokens of Microsoft Entra: requests for tokens, their renewal, failures, and where they are not sent."""
import json
import os

import drive as d

drive = d.Drive("openai")
BASE = "https://acme.openai.azure.com/openai/v1"
APP = {"tenant": "t-1", "client_id": "c/1", "client_secret": {"secret": "MY_SECRET"}}
MACHINE = {"managed_identity": True}
ANSWER = {"body": json.dumps({"id": "c", "model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"},
                                                                    "finish_reason": "stop"}]})}
STREAM = {"headers": {"content-type": "text/event-stream"}, "stream": "".join(
    "data: " + json.dumps({"id": "c", "choices": [choice]}) + "\n\n" for choice in (
        {"index": 0, "delta": {"content": "H"}}, {"index": 0, "delta": {"content": "i"}}, {"index": 0, "delta": {}, "finish_reason": "stop"}))
    + "data: [DONE]\n\n"}
REFUSED = {"status": 401, "body": json.dumps({"error": {"code": "401", "message": "Access token expired"}})}


def token(text, life=3599):
    return {"body": json.dumps({"token_type": "Bearer", "expires_in": life, "access_token": text})}


def case(*exchanges, entra=APP, **more):
    config = {"model": "gpt-4o", "base_url": BASE, "stream": False, "dialect": {"key_header": "api-key"}, "entra": entra,
              **more.pop("config", {})}
    return {"component": "openai", "config": config, "input": {"messages": ["Hi"]}, "exchanges": list(exchanges), **more}


def test_application():
    result = drive([case(token("t1"), ANSWER)])[0]
    first, second = result["requests"]
    d.check(first["url"] == "https://login.microsoftonline.com/t-1/oauth2/v2.0/token" and first["private"] == "azure-access-token", f"{first}")
    form = "grant_type=client_credentials&client_id=c%2F1&scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default&client_secret="
    d.check(first["body"] == [form, {"secret": "MY_SECRET"}], f"{first['body']}")
    d.check(second["url"] == BASE + "/chat/completions" and second["headers"]["authorization"] == "Bearer t1", f"{second}")
    d.check("api-key" not in second["headers"] and result["output"]["message"]["content"] == "Hi", f"{result}")
    streamed = drive([case(token("t1"), STREAM, config={"stream": True}, cuts=True)])[0]
    d.check(streamed["output"]["message"]["content"] == "Hi", f"{streamed}")
    d.check(set(streamed["cuts"]["codes"]) <= {"INVALID_RESPONSE", "NO_USAGE"}, f"{streamed['cuts']}")
    os.environ.update(AZURE_TENANT_ID="env.example", AZURE_CLIENT_ID="env-client")
    first = drive([case(token("t1"), ANSWER, entra={})])[0]["requests"][0]
    d.check("/env.example/" in first["url"] and "env-client" in first["body"][0], f"{first}")
    d.check(first["body"][1] == {"secret": "AZURE_CLIENT_SECRET"}, f"{first}")
    del os.environ["AZURE_TENANT_ID"], os.environ["AZURE_CLIENT_ID"]


def test_machine():
    for entra, client in ((MACHINE, None), ({**MACHINE, "client_id": "own"}, "own")):
        result = drive([case(token("t1", "86399"), ANSWER, entra=entra)])[0]
        first, second = result["requests"]
        d.check(first["url"] == "http://169.254.169.254/metadata/identity/oauth2/token" and first["headers"] == {"metadata": "true"}, f"{first}")
        d.check(first["query"]["resource"] == "https://cognitiveservices.azure.com" and first["query"].get("client_id") == client, f"{first}")
        d.check(second["headers"]["authorization"] == "Bearer t1", f"{second}")
    for code in ("CONNECT", "TIMEOUT"):
        error = drive([case({"failed": {"code": code, "message": "m"}}, entra=MACHINE)])[0]["error"]
        d.check(error["code"] == "AUTH" and "no managed identity" in error["message"], f"{error}")


def test_renewal():
    result = drive([case(token("t1"), REFUSED, token("t2"), ANSWER)])[0]
    sent = [one["headers"].get("authorization") for one in result["requests"]]
    d.check(sent == [None, "Bearer t1", None, "Bearer t2"] and "output" in result, f"{sent} {result.get('error')}")
    result = drive([case(token("t1"), REFUSED, token("t2"), REFUSED)])[0]
    d.check(result["error"]["code"] == "AUTH" and len(result["requests"]) == 4, f"{result}")
    d.check("t2" not in json.dumps(result["error"]), f"a token is shown: {result['error']}")
    d.check("check `entra`" in result["error"]["message"] and "secret" not in result["error"]["detail"], f"what was refused: {result['error']}")
    # A forbidden request is not repeated, and without `entra` neither is a 401.
    result = drive([case(token("t1"), {"status": 403, "body": "{}"})])[0]
    d.check(result["error"]["code"] == "AUTH" and len(result["requests"]) == 2, f"{result}")
    one = case(REFUSED, config={"api_key": "k"})
    del one["config"]["entra"]
    result = drive([one])[0]
    d.check(result["error"]["code"] == "AUTH" and len(result["requests"]) == 1, f"{result}")
    d.check(result["requests"][0]["headers"]["api-key"] == ["k"], f"{result['requests']}")


def test_failures():
    body = json.dumps({"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided.", "error_codes": [7000215]})
    error = drive([case({"status": 401, "body": body})])[0]["error"]
    d.check(error["code"] == "AUTH" and "Entra returned no access token (status 401, invalid_client)" in error["message"], f"{error}")
    error = drive([case({"status": 503, "body": "x"})])[0]["error"]
    d.check(error["code"] == "OVERLOADED", f"{error}")
    error = drive([case({"body": "{}"})])[0]["error"]
    d.check(error["code"] == "INVALID_RESPONSE", f"{error}")
    error = drive([case({"failed": {"code": "SECRET_NOT_FOUND", "message": "the secret `MY_SECRET` is not available"}})])[0]["error"]
    d.check("MY_SECRET" in error["message"], f"{error}")
    result = drive([case({"hangs": True})])[0]
    d.check(result.get("open"), f"a hanging token endpoint: {result}")
    result = drive([case(token("t1"), ANSWER, fail_allocations=True)])[0]["allocation_failures"]
    d.check(set(result) <= {"LIMIT", "INVALID_REQUEST", "CREATE", "SAME", "AUTH", "INVALID_RESPONSE", str(d.NO_MEMORY)}, f"{result}")


def test_hosts():
    for base in ("https://evil.example/v1", "http://acme.openai.azure.com/v1", "https://acme.openai.azure.com@evil.example/v1",
                 "https://acme.openai.azure.com.evil.example/v1", "https://openai.azure.com.evil/v1", "https://evil.example/.openai.azure.com"):
        for entra in (APP, MACHINE):
            result = drive([case(entra=entra, config={"base_url": base})])[0]
            d.check("sent to no other host" in result.get("refused", ""), f"{base}: {result}")
    for entra, words in (({"client_id": "c"}, "tenant"), ({"tenant": "a/b", "client_id": "c"}, "tenant"), ({"tenant": "t"}, "client_id")):
        result = drive([case(entra=entra)])[0]
        d.check(words in result.get("refused", ""), f"{entra}: {result}")
    result = drive([case(config={"api_key": "k"})])[0]
    d.check("both" in result.get("refused", ""), f"a key and tokens: {result}")
    section = {"azure_url": "http://gateway.example:8080/x", "entra_authority": "https://login.microsoftonline.us/"}
    result = drive([case(token("t1"), ANSWER, config={"base_url": "http://gateway.example:8080/v1"}, section=section)])[0]
    d.check([one["url"] for one in result["requests"]] == ["https://login.microsoftonline.us/t-1/oauth2/v2.0/token",
                                                          "http://gateway.example:8080/v1/chat/completions"], f"{result}")
    result = drive([case(config={"base_url": "http://gateway.example:8081/v1"}, section=section)])[0]
    d.check("refused" in result, f"another port: {result}")


def test_embeddings_and_responses():
    embeddings = {"body": json.dumps({"data": [{"index": 0, "embedding": [1, 2]}], "usage": {"prompt_tokens": 1, "total_tokens": 1}})}
    one = case(token("t1"), embeddings)
    one["input"] = {"embed": ["a"]}
    result = drive([one])[0]
    d.check(result["output"]["embeddings"] == [[1, 2]] and result["requests"][1]["headers"]["authorization"] == "Bearer t1", f"{result}")


def main():
    for name in ("AZURE_TENANT_ID", "AZURE_CLIENT_ID"):
        os.environ.pop(name, None)
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    d.finish()


if __name__ == "__main__":
    main()
