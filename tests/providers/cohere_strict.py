"""A strict server of Cohere: it refuses every member that the service's own SDK does not have (cohere 7, src/cohere/v2 and
types), and members of another type.

A shape is a type, a set of words, a list with the shape of its items, a dictionary of members (a name with ? may be
missing), a tuple of alternatives, or ANY."""

ANY = object()
NUMBER = (int, float)
TEXT = {"type": {"text"}, "text": str}
CALL = {"id": str, "type": {"function"}, "function": {"name": str, "arguments": str}}
DOCUMENT = {"data": dict, "id?": str}
MESSAGES = {
    "system": {"role": {"system"}, "content": (str, [TEXT])},
    "user": {"role": {"user"}, "content": (str, [(TEXT, {
        "type": {"image_url"}, "image_url": {"url": str, "detail?": {"auto", "low", "high"}}})])},
    "assistant": {"role": {"assistant"}, "content?": (str, [(TEXT, {"type": {"thinking"}, "thinking": str})]), "tool_plan?": str,
                  "tool_calls?": [CALL]},
    "tool": {"role": {"tool"}, "tool_call_id": str, "content": (str, [(TEXT, {"type": {"document"}, "document": DOCUMENT})])},
}
CHAT = {
    "model": str, "messages": [tuple(MESSAGES.values())], "stream?": bool,
    "tools?": [{"type": {"function"}, "function": {"name": str, "description?": str, "parameters": dict}}],
    "strict_tools?": bool, "documents?": [(str, DOCUMENT)], "safety_mode?": {"CONTEXTUAL", "STRICT", "OFF"},
    "citation_options?": {"mode": {"ENABLED", "DISABLED", "FAST", "ACCURATE", "OFF"}},
    "response_format?": {"type": {"json_object"}, "json_schema?": dict}, "max_tokens?": int, "stop_sequences?": [str],
    "temperature?": NUMBER, "seed?": int, "frequency_penalty?": NUMBER, "presence_penalty?": NUMBER, "k?": int, "p?": NUMBER,
    "logprobs?": bool, "tool_choice?": {"REQUIRED", "NONE"},
    "thinking?": {"type": {"enabled", "disabled"}, "token_budget?": int}, "priority?": int,
}
EMBED = {
    "model": str, "input_type": {"search_document", "search_query", "classification", "clustering", "image"}, "texts": [str],
    "max_tokens?": int, "output_dimension?": int, "truncate?": {"NONE", "START", "END"}, "priority?": int,
    "embedding_types": [{"float", "int8", "uint8", "binary", "ubinary", "base64"}],
}


def faults(shape, value, at="$"):
    """Returns what is wrong with a value, as texts."""
    if shape is ANY:
        return []
    if isinstance(shape, tuple):
        found = [faults(one, value, at) for one in shape]
        return min(found, key=lambda wrong: (len(wrong), -max(map(len, wrong), default=0)))
    if isinstance(shape, set):
        return [] if isinstance(value, str) and value in shape else [f"{at}: {value!r}"]
    if isinstance(shape, type):
        return [] if isinstance(value, shape) and (shape is bool or not isinstance(value, bool)) else [f"{at}: {value!r}"]
    if isinstance(shape, list):
        if not isinstance(value, list) or not value:
            return [f"{at}: {value!r}, expected a list with items"]
        return [text for i, item in enumerate(value) for text in faults(shape[0], item, f"{at}[{i}]")]
    if not isinstance(value, dict):
        return [f"{at}: {value!r}, expected an object"]
    known = {name.rstrip("?"): one for name, one in shape.items()}
    wrong = [f"{at}.{name} is missing" for name in shape if not name.endswith("?") and name not in value]
    wrong += [f"{at}.{name} is unknown" for name in value if name not in known]
    return wrong + [text for name in value if name in known for text in faults(known[name], value[name], f"{at}.{name}")]


def refuse(body):
    """What the service would refuse in the body of a request."""
    if "texts" in body:
        return faults(EMBED, body) + (["more than 96 texts"] if len(body["texts"]) > 96 else [])
    wrong = faults({**CHAT, "messages": ANY}, body)
    for i, message in enumerate(body["messages"]):
        wrong += faults(MESSAGES[message["role"]], message, f"$.messages[{i}]")
        if message["role"] != "assistant" and not message["content"]:
            wrong.append(f"$.messages[{i}].content is empty")
        if message["role"] == "assistant" and not message.get("content") and not message.get("tool_calls"):
            wrong.append(f"$.messages[{i}] has neither content nor tool_calls")
        if message.get("tool_calls") and "content" in message:  # "text content is not allowed when tool_calls are provided"
            thoughts = isinstance(message["content"], list) and all(part["type"] == "thinking" for part in message["content"])
            if not thoughts or "tool_plan" in message or body.get("thinking", {}).get("type") == "disabled":
                wrong.append(f"$.messages[{i}].content is {message['content']} beside tool_calls")
    if "response_format" in body and ("tools" in body or "documents" in body):
        wrong.append("response_format with tools or documents")
    if not 0.01 <= body.get("p", 0.5) <= 0.99:
        wrong.append(f"p: {body['p']}")
    return wrong
