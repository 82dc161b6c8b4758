"""The graphs of `langgraph dev`: the model of each has the name of the graph, with the numbers of the environment."""
import asyncio
import os

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph


def one(node):
    graph = StateGraph(MessagesState)
    graph.add_node("answer", node)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile()


def calls(name):
    model = ChatOpenAI(model=name, base_url=os.environ["PROVIDER"], api_key="none", stream_usage=False)

    async def answer(state):
        return {"messages": [await model.ainvoke(state["messages"])]}

    return one(answer)


async def say_hello(state):
    return {"messages": [("ai", "Hello, %s!" % state["messages"][-1].content)]}


async def wait(_):
    await asyncio.sleep(600)


burst = calls(os.environ["BURST"])
paced = calls(os.environ["PACED"])
trivial = one(say_hello)
held = one(wait)
