// textmate.mjs - the injection grammar of the extension in VS Code's own engine, on a small part of a YAML grammar.
//   node textmate.mjs MODULES EXTENSION
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import assert from "node:assert/strict";

const [modules, extension] = process.argv.slice(2);
const require = createRequire(modules + "/");
const textmate = require("vscode-textmate"), oniguruma = require("vscode-oniguruma");
const wasm = readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.length));

// Scopes of VS Code's grammar for YAML.
const yaml = {
  scopeName: "source.yaml",
  patterns: [
    { match: "^\\s*(- )?([a-z_]+):", name: "entity.name.tag.yaml" },
    { begin: "\"", end: "\"", name: "string.quoted.double.yaml" },
    { begin: "(?=[^ \"#])", end: "$", name: "string.unquoted.plain.out.yaml" },
  ],
};
const { contributes } = JSON.parse(readFileSync(`${extension}/package.json`, "utf8"));
const files = new Map(contributes.grammars.map((one) => [one.scopeName, `${extension}/${one.path}`]));
const registry = new textmate.Registry({
  onigLib: Promise.resolve({ createOnigScanner: (p) => new oniguruma.OnigScanner(p), createOnigString: (s) => new oniguruma.OnigString(s) }),
  loadGrammar: async (scope) => {
    const text = scope === "source.yaml" ? JSON.stringify(yaml) : readFileSync(files.get(scope), "utf8");
    return textmate.parseRawGrammar(text, "grammar.json");
  },
  getInjections: (scope) => contributes.grammars.filter((one) => one.injectTo?.includes(scope)).map((one) => one.scopeName),
});
const grammar = await registry.loadGrammar("source.yaml.adl");

// The innermost scope of a part of a line.
function scopeOf(line, part) {
  const at = line.indexOf(part);
  const { tokens } = grammar.tokenizeLine(line, textmate.INITIAL);
  const token = tokens.find((one) => one.startIndex <= at && at < one.endIndex);
  return token.scopes.at(-1);
}
const prompt = 'prompt: "About {topic}.{for note in notes} Not {note[0].text}.{end} {{no}}"';
for (const [line, part, scope] of [
  [prompt, "topic", "variable.other.cel"],
  [prompt, "for", "keyword.control.adl"],
  [prompt, "in notes", "keyword.operator.word.cel"],
  [prompt, "text}", "variable.other.property.cel"],
  [prompt, "end", "keyword.control.adl"],
  [prompt, "{{", "constant.character.escape.adl"],
  [prompt, "no}}", "string.quoted.double.yaml"],
  [prompt, "About", "string.quoted.double.yaml"],
  [prompt, "prompt", "entity.name.tag.yaml"],
  ["expression: state.score >= 8", "state", "variable.language.adl"],
  ["description: the state of it", "state", "string.unquoted.plain.out.yaml"],
])
  assert.equal(scopeOf(line, part), scope, `${part} in ${line}`);
