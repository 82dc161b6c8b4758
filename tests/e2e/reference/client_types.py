"""Writes a client for the generated types: every example of the OpenRPC document as a value of its type.

    client_types.py python|typescript <openrpc.json >client
"""
import json
import re
import sys

language = sys.argv[1]
api = json.load(sys.stdin)


def pascal(name):
    return "".join(part[0].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))


def named(list_of):
    return {one["name"]: one["value"] for one in list_of}


examples = [(m["name"], named(e["params"]), e["result"]["value"]) for m in api["methods"] for e in m["examples"]]
if language == "typescript":
    print('import type { Events, Methods, RunId } from "./methods";')
    for number, (name, params, result) in enumerate(examples):
        print(f"export const params{number}: Methods[{json.dumps(name)}][\"params\"] = {json.dumps(params)};")
        print(f"export const result{number}: Methods[{json.dumps(name)}][\"result\"] = {json.dumps(result)};")
    for event in api["x-tenon-events"]:
        print(f"export const on{pascal(event['name'])} = (params: Events[{json.dumps(event['name'])}]): number => params.subscription;")
    print("""
declare function call<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]>;
export async function start(document: string): Promise<RunId> {
  const started = await call("run/start", { document, modes: ["updates"] });
  const run = await call("run/wait", { run_id: started.run_id });
  if (run.status === "done") return run.run_id;
  const drawn = await call("document/graph", { document });
  const size = (drawn.drawing?.length ?? 0) + (drawn.graph?.nodes.length ?? 0);
  const { runs } = await call("run/list", { limit: size });
  return runs.length > 0 ? runs[0].run_id : started.run_id;
}""")
else:
    print("import typing\nimport methods\n\n\ndef examples(client: methods.Calls) -> None:")
    for name, params, _ in examples:
        print(f"    client.call({name!r}, {params!r})")
    print("""

class Client:
    def call(self, method: str, params: typing.Any = None) -> typing.Any:
        assert method in methods.METHODS


def start(client: methods.Calls, document: str) -> methods.RunId:
    started = client.call("run/start", {"document": document, "modes": ["updates"]})
    run = client.call("run/wait", {"run_id": started["run_id"]})
    if run["status"] == "done":
        return run["run_id"]
    drawn = client.call("document/graph", {"document": document})
    size = len(drawn.get("drawing", "")) + (len(drawn["graph"]["nodes"]) if "graph" in drawn else 0)
    runs = client.call("run/list", {"limit": size})["runs"]
    return runs[0]["run_id"] if runs else started["run_id"]


def on_ended(params: methods.RunEndedEvent) -> methods.RunStatus:
    return params["status"]


examples(Client())""")
    for number, (name, _, result) in enumerate(examples):
        kind = next(m for m in api["methods"] if m["name"] == name)["result"]["schema"].get("$ref", "").split("/")[-1]
        print(f"result{number}: methods.{kind or pascal(name) + 'Result'} = {result!r}")
