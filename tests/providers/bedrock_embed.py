"""Amazon Bedrock's embeddings: the bodies that each family accepts, as a strict service, and what its answers become.

The address and the method are compared with botocore's service model if that is installed.
"""
import json

import drive as d
from bedrock_wire import load_schema

TITAN, TITAN_1, IMAGE = "amazon.titan-embed-text-v2:0", "amazon.titan-embed-text-v1", "amazon.titan-embed-image-v1"
COHERE_3, COHERE_4 = "cohere.embed-multilingual-v3", "us.cohere.embed-v4:0"
NOVA = "amazon.nova-2-multimodal-embeddings-v1:0"
TEXTS, TYPES = (list, 1, 96), ("search_document", "search_query", "classification", "clustering")
# The members of a body in Amazon's documentation: a type, allowed values, (list, least, most) of texts, or an object. "!": required.
BODIES = {
    TITAN: {"!inputText": str, "dimensions": (256, 512, 1024), "normalize": bool, "embeddingTypes": list},
    TITAN_1: {"!inputText": str},
    IMAGE: {"inputText": str, "inputImage": str, "embeddingConfig": {"!outputEmbeddingLength": (256, 384, 1024)}},
    COHERE_3: {"!texts": TEXTS, "!input_type": TYPES, "truncate": ("NONE", "START", "END"), "embedding_types": list},
    COHERE_4: {"texts": TEXTS, "!input_type": TYPES, "truncate": ("NONE", "LEFT", "RIGHT"), "embedding_types": list,
               "output_dimension": (256, 512, 1024, 1536), "max_tokens": int},
    NOVA: {"schemaVersion": ("nova-multimodal-embed-v1",), "!taskType": ("SINGLE_EMBEDDING",), "!singleEmbeddingParams": {
        "!embeddingPurpose": ("GENERIC_INDEX", "GENERIC_RETRIEVAL", "TEXT_RETRIEVAL", "CLASSIFICATION", "CLUSTERING"),
        "embeddingDimension": (256, 384, 1024, 3072),
        "!text": {"!truncationMode": ("START", "END", "NONE"), "!value": str}}},
}


def faults(allowed, body, at="$"):
    """What a service that knows only these members would say."""
    members = {name.lstrip("!"): rule for name, rule in allowed.items()}
    found = [f"{at}: unknown member {name}" for name in body if name not in members]
    found += [f"{at}: {name[1:]} is missing" for name in allowed if name[0] == "!" and name[1:] not in body]
    for name, value in body.items():
        rule = members.get(name)
        if isinstance(rule, dict):
            found += faults(rule, value, f"{at}.{name}")
        elif isinstance(rule, type):
            found += [] if isinstance(value, rule) else [f"{at}.{name}: {value!r}"]
        elif rule is TEXTS:
            fits = 1 <= len(value) <= rule[2] and all(isinstance(text, str) for text in value)
            found += [] if fits else [f"{at}.{name}: {len(value)} texts"]
        elif rule is not None and value not in rule:
            found.append(f"{at}.{name}: {value!r} is none of {rule}")
    return found


def vector(text):
    return [len(text), 0.5]


def answer(model, texts, **more):
    """An answer of the service: the form differs with the family."""
    headers = {"content-type": "application/json", "x-amzn-bedrock-input-token-count": str(len(texts) * 2)}
    if "titan" in model:
        body = {"embedding": vector(texts[0]), "inputTextTokenCount": 2}
        if model == TITAN:
            body["embeddingsByType"] = {"float": vector(texts[0])}
        del headers["x-amzn-bedrock-input-token-count"]
    elif "nova" in model:
        body = {"embeddings": [{"embeddingType": "TEXT", "embedding": vector(texts[0])}]}
    elif model == COHERE_4:
        body = {"id": "1", "response_type": "embeddings_by_type", "embeddings": {"float": list(map(vector, texts))}, "texts": texts}
    else:
        body = {"id": "1", "response_type": "embeddings_floats", "embeddings": list(map(vector, texts)), "texts": texts}
    return {"headers": headers, "body": json.dumps({**body, **more})}


def case(model, texts, exchanges, config=None, **given):
    settings = {"model": model, "region": "us-east-1", **(config or {})}
    return {"component": "bedrock", "config": settings, "input": {"embed": texts, **given}, "exchanges": exchanges}


def batches(model, texts):
    size = 96 if "cohere" in model else 1
    return [texts[i : i + size] for i in range(0, len(texts), size)]


def test_texts(drive):
    texts = ["a", "bb", "ünf"]
    for model in BODIES:
        many = [f"text {i}" for i in range(100 if "cohere" in model else 6)]
        one, few, more = drive([case(model, part, [answer(model, batch) for batch in batches(model, part)])
                                   for part in (["a"], texts, many)])
        for part, result in ((["a"], one), (texts, few), (many, more)):
            output = result.get("output") or {}
            d.check(output.get("embeddings") == [vector(text) for text in part], f"{model}: {json.dumps(result)[:600]}")
            tokens = len(part) * 2
            d.check(output.get("usage") == {"input_tokens": tokens, "output_tokens": 0, "total_tokens": tokens}, f"{model}: {output}")
            d.check(len(result["requests"]) == len(batches(model, part)), f"{model}: {len(result['requests'])} requests")
            for request in result["requests"]:
                found = faults(BODIES[model], request["json"])
                d.check(not found, f"{model}: {found}")
                d.check(request["headers"]["accept"] == "application/json" and request["receive"] == "whole", f"{model}: {request}")
                d.check(request["sign"]["aws"]["service"] == "bedrock", f"{model}: it is not signed")


def test_options(drive):
    cases = [
        (TITAN, {"dimensions": 256, "extra": {"normalize": False}}, {"inputText": "a", "dimensions": 256, "normalize": False}),
        (IMAGE, {"dimensions": 384}, {"inputText": "a", "embeddingConfig": {"outputEmbeddingLength": 384}}),
        (COHERE_3, {}, {"texts": ["a"], "input_type": "search_document"}),
        (COHERE_3, {"extra": {"input_type": "search_query", "truncate": "END"}},
         {"texts": ["a"], "input_type": "search_query", "truncate": "END"}),
        (COHERE_4, {"dimensions": 512}, {"texts": ["a"], "input_type": "search_document", "output_dimension": 512}),
        (NOVA, {"dimensions": 3072, "extra": {"singleEmbeddingParams": {"embeddingPurpose": "TEXT_RETRIEVAL", "text": {"truncationMode": "END"}}}},
         {"taskType": "SINGLE_EMBEDDING", "singleEmbeddingParams": {"embeddingPurpose": "TEXT_RETRIEVAL", "embeddingDimension": 3072,
                                                                    "text": {"truncationMode": "END", "value": "a"}}}),
    ]
    for (model, config, expected), result in zip(cases, drive([case(m, ["a"], [answer(m, ["a"])], c) for m, c, _ in cases])):
        body = result["requests"][0]["json"]
        d.check(body == expected, f"{model}: {body}, expected {expected}")
        d.check(not faults(BODIES[model], body), f"{model}: {faults(BODIES[model], body)}")
    given = drive([case(m, ["a"], [answer(m, ["a"])], options={"dimensions": 512, "purpose": "query"}) for m in (TITAN, COHERE_4)])
    d.check(given[0]["requests"][0]["json"] == {"inputText": "a", "dimensions": 512}, f"options of the call: {given[0]}")
    d.check(given[1]["requests"][0]["json"]["input_type"] == "search_query", f"a query: {given[1]}")
    given, = drive([case(NOVA, ["a"], [answer(NOVA, ["a"])], options={"purpose": "query"})])
    d.check(given["requests"][0]["json"]["singleEmbeddingParams"]["embeddingPurpose"] == "TEXT_RETRIEVAL", f"a query: {given}")


def test_address(drive):
    arn = "arn:aws:bedrock:eu-west-1::foundation-model/amazon.titan-embed-text-v2:0"
    result, = drive([case(arn, ["a"], [answer(TITAN, ["a"])], {"region": "eu-west-1"})])
    url = result["requests"][0]["url"]
    d.check(url.endswith("/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A%3Afoundation-model%2Famazon.titan-embed-text-v2%3A0/invoke"), url)
    schema = load_schema()
    if schema is None:
        print("the address was not compared: botocore is not installed")
        return
    http = schema.operations["InvokeModel"]["http"]
    d.check((http["method"], http["requestUri"]) == ("POST", "/model/{modelId}/invoke"), f"botocore has {http}")
    d.check(result["requests"][0].get("method", "POST") == http["method"], f"{result['requests'][0]}")


def test_refused(drive):
    refused = [
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", {}, ["a"], "UNSUPPORTED", "cannot embed with `us.anthropic"),
        (TITAN_1, {"dimensions": 256}, ["a"], "UNSUPPORTED", "only one size"),
        (COHERE_3, {"dimensions": 256}, ["a"], "UNSUPPORTED", "only one size"),
        (TITAN, {}, ["a", 1], "INVALID_REQUEST", "embed[1] is an int"),
        (TITAN, {}, [], "INVALID_REQUEST", "non-empty array"),
    ]
    for (model, _, _, code, words), result in zip(refused, drive([case(m, t, [], c) for m, c, t, _, _ in refused])):
        error = result.get("error") or {}
        d.check(error.get("code") == code and words in error.get("message", ""), f"{model}: {result}")
    wrong = [
        (TITAN, {"embedding": None}), (TITAN, {"embedding": ["x"]}), (COHERE_3, {"embeddings": []}),
        (COHERE_4, {"embeddings": {"int8": [[1]]}}), (NOVA, {"embeddings": [{"embedding": []}]}),
        (COHERE_3, {"embeddings": [[1], [2]]}),
    ]
    for (model, more), result in zip(wrong, drive([case(m, ["a"], [answer(m, ["a"], **more)]) for m, more in wrong])):
        d.check((result.get("error") or {}).get("code") == "INVALID_RESPONSE", f"{model} {more}: {result}")
    headers = {"x-amzn-errortype": "ValidationException:http://internal"}
    long = {"status": 400, "headers": headers, "body": json.dumps({"message": "Too many input tokens. Max input tokens: 8192"})}
    second, = drive([case(TITAN, ["a", "b"], [answer(TITAN, ["a"]), long])])
    d.check(second["error"]["code"] == "CONTEXT_LENGTH" and len(second["requests"]) == 2, f"the second text: {second}")
    # Without a count, the usage is not invented.
    bare = {**answer(COHERE_3, ["a"]), "headers": {"content-type": "application/json"}}
    result, = drive([case(COHERE_3, ["a"], [bare])])
    d.check("usage" not in result["output"] or "input_tokens" not in result["output"]["usage"], f"no count: {result['output']}")


def test_memory(drive):
    result, = drive([{**case(TITAN, ["a", "b"], [answer(TITAN, ["a"]), answer(TITAN, ["b"])]), "fail_allocations": True}])
    codes = set(result["allocation_failures"])
    d.check(codes <= {"LIMIT", "NO_MEMORY", "INVALID_REQUEST", "INVALID_RESPONSE", "CREATE", "SAME", str(d.NO_MEMORY)}, f"{codes}")


def main():
    drive = d.Drive("bedrock")
    for test in (test_texts, test_options, test_address, test_refused, test_memory):
        test(drive)
    d.finish()


if __name__ == "__main__":
    main()
