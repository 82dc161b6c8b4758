"""openai_clients.py ADDRESS KEY: OpenAI's SDK for Python, unchanged, with the graphs of tests/protocols/graphs."""
import asyncio
import json
import sys

import openai

ADDRESS, KEY = sys.argv[1:3]
HELLO = [{"role": "user", "content": "hi"}]
client = openai.OpenAI(base_url=ADDRESS + "/v1", api_key=KEY, max_retries=0)


def refused(kind, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as error:
        return error
    raise AssertionError(f"{kind} was expected")


def chat():
    assert "reasoning" in [model.id for model in client.models.list()]
    made = client.chat.completions.create(model="reasoning", messages=HELLO, user="ada")
    assert made.choices[0].message.content == "Hello there, how are you?", made
    with client.chat.completions.stream(model="reasoning", messages=HELLO) as stream:
        deltas = "".join(event.delta for event in stream if event.type == "content.delta")
        final = stream.get_final_completion()
    assert deltas == final.choices[0].message.content == "Hello there, how are you?"
    error = refused(openai.RateLimitError, client.chat.completions.create, model="error", messages=HELLO)
    assert error.code == "rate_limit_exceeded"
    error = refused(openai.BadRequestError, client.chat.completions.create, model="reasoning", messages=[])
    assert error.param == "messages"
    refused(openai.NotFoundError, client.chat.completions.create, model="nothing", messages=HELLO)
    other = openai.OpenAI(base_url=ADDRESS + "/v1", api_key="tn_no", max_retries=0)
    assert refused(openai.AuthenticationError, other.models.list).code == "invalid_api_key"


def questions():
    asked = client.chat.completions.create(model="question", messages=[{"role": "user", "content": "cats"}])
    call = asked.choices[0].message.tool_calls[0]
    assert call.function.name == "tenon_answer" and json.loads(call.function.arguments)["question"].endswith("cats?")
    answer = {"role": "tool", "tool_call_id": call.id, "content": "everybody"}
    messages = [{"role": "user", "content": "cats"}, asked.choices[0].message, answer]
    answered = client.chat.completions.create(model="question", messages=messages)
    assert answered.choices[0].message.content == "everybody"
    refused(openai.BadRequestError, client.chat.completions.create, model="question", messages=messages)


def responses():
    made = client.responses.create(model="reasoning", input="hi")
    assert made.output_text == "Hello there, how are you?"
    assert [item.type for item in made.output] == ["reasoning", "message"]
    assert client.responses.retrieve(made.id).output == made.output
    with client.responses.stream(model="tools", input="I like pizza") as stream:
        types = [event.type for event in stream]
        final = stream.get_final_response()
    assert types[0] == "response.created" and types[-1] == "response.completed"
    assert final.output_text.endswith("Noted: you like pizza.")
    error = refused(openai.BadRequestError, client.responses.create, model="tools", input="x", previous_response_id="resp_x")
    assert error.code == "previous_response_not_found"


async def parallel():
    many = openai.AsyncOpenAI(base_url=ADDRESS + "/v1", api_key=KEY, max_retries=0)
    made = await asyncio.gather(*(many.responses.create(model="reasoning", input=str(i)) for i in range(20)))
    assert len({response.id for response in made}) == 20


chat()
questions()
responses()
asyncio.run(parallel())
print("ok openai for Python")
