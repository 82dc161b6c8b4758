"""What Tenon is compared with: a FastAPI server that streams the tokens of the provider in OpenAI's format.

    PROVIDER=http://…/v1 uvicorn fastapi_server:app --loop uvloop --http httptools --no-access-log
"""
import asyncio
import json
import os

import httpx
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

app = FastAPI()
client = httpx.AsyncClient(limits=httpx.Limits(max_connections=None), timeout=None)


def event(delta, finish=None):
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
             "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return "data: %s\n\n" % json.dumps(chunk, separators=(",", ":"))


async def tokens(body):
    yield event({"role": "assistant", "content": ""})
    if body["model"] == "held":
        await asyncio.sleep(600)
    async with client.stream("POST", os.environ["PROVIDER"] + "/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if not line.startswith("data: {"):
                continue
            choice = json.loads(line[6:])["choices"][0]
            if content := choice["delta"].get("content"):
                yield event({"content": content})
    yield event({}, "stop")
    yield "data: [DONE]\n\n"


@app.post("/v1/chat/completions")
async def completions(request: Request):
    body = await request.json()
    if body["model"] == "trivial":
        message = {"role": "assistant", "content": "Hello, %s!" % body["messages"][-1]["content"]}
        return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "trivial",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    return StreamingResponse(tokens(body), media_type="text/event-stream")


@app.get("/ready")
async def ready():
    return {}
