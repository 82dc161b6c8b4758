"""python bench.py WORKLOAD [N]: the workloads of tenon-bench in pydantic-graph, as far as it has them.

A graph has a state object instead of channels: steps change it in place. The numbers of par and fanout are collected by
a join. Every result is checked in the timed section.
"""
import asyncio
import json
import resource
import sys
import time
from dataclasses import dataclass

from pydantic_graph import GraphBuilder, StepContext, reduce_list_append

LOOPS = 1000


@dataclass
class State:
    counter: int = 0


def adding(builder, name, pause):
    @builder.step(node_id=name)
    async def add(context: StepContext[State, None, object]) -> None:
        if pause:
            await asyncio.sleep(pause)
        context.state.counter += 1
    return add


def chain(length, pause_at=-1):
    builder = GraphBuilder(state_type=State, output_type=int)
    steps = [adding(builder, f"n{i}", 0.1 if i == pause_at else 0) for i in range(length)]

    @builder.step(node_id="result")
    async def result(context: StepContext[State, None, None]) -> int:
        return context.state.counter

    before = builder.start_node
    for step in [*steps, result]:
        builder.add(builder.edge_from(before).to(step))
        before = step
    builder.add(builder.edge_from(before).to(builder.end_node))
    return builder.build()


def loop():
    builder = GraphBuilder(state_type=State, output_type=int)

    @builder.step(node_id="add")
    async def add(context: StepContext[State, None, object]) -> int:
        context.state.counter += 1
        return context.state.counter

    again = builder.decision(node_id="again").branch(
        builder.match(int, matches=lambda n: n < LOOPS).to(add)).branch(builder.match(int).to(builder.end_node))
    builder.add(builder.edge_from(builder.start_node).to(add), builder.edge_from(add).to(again))
    return builder.build()


def workers(count):
    builder = GraphBuilder(state_type=State, output_type=int)

    def working(i):
        @builder.step(node_id=f"w{i}")
        async def work(context: StepContext[State, None, None]) -> int:
            return i
        return work

    all_of_them = [working(i) for i in range(count)]
    collected = builder.join(reduce_list_append, initial_factory=list[int])

    @builder.step(node_id="join")
    async def join(context: StepContext[State, None, list[int]]) -> int:
        return len(set(context.inputs))

    builder.add(builder.edge_from(builder.start_node).to(*all_of_them))
    for worker in all_of_them:
        builder.add(builder.edge_from(worker).to(collected))
    builder.add(builder.edge_from(collected).to(join), builder.edge_from(join).to(builder.end_node))
    return builder.build()


async def once(graph, expected):
    got = await graph.run(state=State())
    if got != expected:
        raise SystemExit(f"a wrong result: {got}, not {expected}")


# workload: graph, expected result, units of a run, runs before the timed section
WORKLOADS = {
    "chain": (lambda: chain(10), 10, 10, 20),
    "seq": (lambda: chain(3), 3, 1, 100),
    "loop": (loop, LOOPS, LOOPS, 3),
    "par": (lambda: workers(5), 5, 1, 100),
    "fanout": (lambda: workers(100), 100, 100, 5),
    "concurrent": (lambda: chain(3, 1), 3, 1, 0),
}


async def main(workload, n):
    make, expected, units, warm = WORKLOADS[workload]
    graph = make()
    for _ in range(warm):
        await once(graph, expected)
    start = time.perf_counter()
    if workload == "concurrent":
        await asyncio.gather(*(once(graph, expected) for _ in range(n)))
    else:
        for _ in range(n):
            await once(graph, expected)
    wall = time.perf_counter() - start
    print(json.dumps({"workload": workload, "n": n, "wall_s": wall, "per_unit_us": wall * 1e6 / (n * units),
                      "rss_peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "notes": {}}))


if len(sys.argv) < 2 or sys.argv[1] not in WORKLOADS or (len(sys.argv) > 2 and not sys.argv[2].isdigit()):
    sys.exit("usage: bench.py " + "|".join(WORKLOADS) + " [N]")
asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000))
