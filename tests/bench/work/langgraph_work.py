#!/usr/bin/env python3
"""The workload `steps` of tenon_work.py for LangGraph and its saver for PostgreSQL (PyPI langgraph==1.2.24,
langgraph-checkpoint-postgres==3.2.0); prints one line of JSON. The saver has no queue, so there are no other workloads.

    langgraph_work.py steps FOLDER N --postgres=URL

A thread of N super-steps, with `durability="sync"`: the checkpoint of a step is in the database before the next one begins, as in
Tenon. URL is a postgresql:// URL of an empty database.
"""
import argparse
import json
import time
from typing import TypedDict

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    n: int


def log_position(url):
    with psycopg.connect(url) as connection:
        return int(connection.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::int8").fetchone()[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", choices=["steps"])
    parser.add_argument("folder")
    parser.add_argument("n", type=int)
    parser.add_argument("--postgres", required=True)
    options = parser.parse_args()
    graph = StateGraph(State)
    graph.add_node("add", lambda state: {"n": state["n"] + 1})
    graph.add_edge(START, "add")
    graph.add_conditional_edges("add", lambda state: "add" if state["n"] < limit else END, ["add", END])
    with PostgresSaver.from_conn_string(options.postgres) as saver:
        saver.setup()
        compiled = graph.compile(checkpointer=saver)

        def run(thread, count):
            set_limit(count)
            result = compiled.invoke({"n": 0}, {"configurable": {"thread_id": thread}, "recursion_limit": count + 2}, durability="sync")
            assert result["n"] == count, result

        run("warm", 10)
        before, began = log_position(options.postgres), time.monotonic()
        run("measured", options.n)
        seconds = time.monotonic() - began
        written = log_position(options.postgres) - before
    print(json.dumps({"engine": "LangGraph", "workload": "steps", "n": options.n, "seconds": seconds, "per_second": options.n / seconds,
                      "log_bytes": written / options.n}))


limit = 0


def set_limit(count):
    global limit
    limit = count


if __name__ == "__main__":
    main()
