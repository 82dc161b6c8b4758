// The graphs of steps.yaml, ask.yaml and outer.yaml, for `langgraphjs dev`.
import { Annotation, END, START, StateGraph, interrupt } from "@langchain/langgraph";

const trace = Annotation({ reducer: (left, right) => left.concat(right), default: () => [] });
export const steps = new StateGraph(Annotation.Root({ trace }))
    .addNode("a", async () => ({ trace: ["a"] }))
    .addNode("b", async () => ({ trace: ["b"] }))
    .addNode("c", async () => ({ trace: ["c"] }))
    .addEdge(START, "a").addEdge("a", "b").addEdge("b", "c").addEdge("c", END).compile();
export const ask = new StateGraph(Annotation.Root({ topic: Annotation(), readers: Annotation() }))
    .addNode("ask", async (state) => ({ readers: interrupt({ question: `Who reads about ${state.topic}?` }) }))
    .addEdge(START, "ask").addEdge("ask", END).compile();
const inner = new StateGraph(Annotation.Root({ trace }))
    .addNode("one", async () => ({ trace: ["one"] }))
    .addNode("two", async () => ({ trace: ["two"] }))
    .addEdge(START, "one").addEdge("one", "two").addEdge("two", END).compile();
export const outer = new StateGraph(Annotation.Root({ trace }))
    .addNode("before", async () => ({ trace: ["before"] }))
    .addNode("inside", async (_, config) => inner.invoke({ trace: [] }, config))
    .addEdge(START, "before").addEdge("before", "inside").addEdge("inside", END).compile();
