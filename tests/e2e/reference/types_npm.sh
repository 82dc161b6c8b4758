# `tenon schema typescript` with the compiler of TypeScript, and `tenon schema openrpc` with the meta schema of OpenRPC.
command -v python3 >/dev/null || skips "python3 is not installed"
npm_packages typescript ajv ajv-formats @open-rpc/meta-schema @json-schema-tools/meta-schema

run tenon schema typescript
expect_code 0 && [ ! -s "$work/err" ] || fails "cannot print the types for TypeScript"
cp "$work/out" methods.ts
cmp -s methods.ts "$BINARY/share/tenon/clients/methods.ts" || fails "the installed methods.ts differs"
"$TENON" schema openrpc >openrpc.json
"$TENON" schema methods >methods.json
python3 "$SOURCE/tests/e2e/reference/client_types.py" typescript <openrpc.json >client.ts
cat >wrong.ts <<'T'
import type { Events, Methods } from "./methods";
declare function call<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]>;
export async function wrong(ended: Events["run/ended"]): Promise<void> {
  await call("run/strat", { document: "a.yaml" }); // wrong
  await call("run/get", { run_id: 7 }); // wrong
  await call("run/get", {}); // wrong
  await call("run/start", { document: "a.yaml", text: "version: 1" }); // wrong
  await call("run/start", { document: "a.yaml", modes: ["update"] }); // wrong
  await call("run/cancel", { run_id: "r", drian: true }); // wrong
  await call("run/list", { limit: null }); // wrong
  const run = await call("run/get", { run_id: "r" });
  if (run.status === "ended") return; // wrong
  run.stat; // wrong
  ended.status * 2; // wrong
}
T
# Both at once: to start the compiler takes longer than to check them.
run node "$modules/typescript/bin/tsc" --strict --noEmit --target es2020 --typeRoots none client.ts wrong.ts
[ "$code" != 0 ] || fails "the compiler accepts mistakes"
! grep ': error ' "$work/out" | grep -v '^wrong\.ts(' || fails "expected no error elsewhere"
diff <(grep -n '// wrong' wrong.ts | cut -d: -f1) <(of 's/^wrong\.ts\(([0-9]+),.*: error .*/\1/p' "$work/out" | sort -nu) ||
    fails "the compiler must report these lines, and no others"

cat >validate.mjs <<'J'
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
const require = createRequire(process.argv[2] + "/");
const Ajv = require("ajv"), Ajv2020 = require("ajv/dist/2020"), formats = require("ajv-formats");
const read = (name) => JSON.parse(readFileSync(name, "utf8"));
const fail = (what, errors) => { console.error(what, JSON.stringify(errors, null, 1)); process.exit(1); };
const api = read("openrpc.json"), openrpc = require("@open-rpc/meta-schema").default;
const schema = structuredClone(require("@json-schema-tools/meta-schema").default);
// Both name themselves as their own dialect; they are schemas of draft 7.
delete schema.$schema;
const document = structuredClone(openrpc);
delete document.$schema;
const old = formats(new Ajv({ strict: false, allErrors: true }));
old.addSchema(schema, "https://meta.json-schema.tools");
const conforms = old.compile(document);
if (!conforms(api)) fail("openrpc.json:", conforms.errors);
for (const change of [(a) => delete a.info, (a) => { a.methods[0].more = 1; }, (a) => { a.methods.find((m) => m.params.length > 0).params[0].schema = 3; }]) {
  const broken = structuredClone(api);
  change(broken);
  if (conforms(broken)) fail("the meta schema accepts a broken document:", change.toString());
}
// Each example has the form of its schemas, for a validator of others.
const methods = read("methods.json");
const ajv = formats(new Ajv2020({ strict: false }));
ajv.addSchema(methods, "https://tenon.test/methods");
for (const method of api.methods)
  for (const example of method.examples) {
    const name = method.name.replace(/\//g, "_"), params = Object.fromEntries(example.params.map((p) => [p.name, p.value]));
    for (const [part, value] of [["params", params], ["result", example.result.value]]) {
      const check = ajv.getSchema(`https://tenon.test/methods#/$defs/${name}_${part}`);
      if (!check(value)) fail(`${method.name}: ${part}`, check.errors);
    }
  }
J
run node validate.mjs "$modules"
expect_code 0
