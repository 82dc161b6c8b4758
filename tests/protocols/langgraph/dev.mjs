// The graphs of steps.yaml and ask.yaml, for `langgraphjs dev`.
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
