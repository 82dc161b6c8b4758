// jwt_hostile.mjs - issuers that are hostile or wrong, and what users of a good one can reach by real protocols, in check
// mode. tests/e2e/serve/jwt.sh starts it.
//
//     node jwt_hostile.mjs TENON WHOAMI.so
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import zlib from "node:zlib";
import { makeKey, makeToken, now, publicJwk, serve, writeGraph } from "./jwt_parts.mjs";

const [tenon, whoami] = process.argv.slice(2);
const key = makeKey("ES256"), last = makeKey("ES256", "last"), beyond = makeKey("ES256", "beyond");
const good = JSON.stringify({ keys: [publicJwk(key)] });
const filler = Array.from({ length: 62 }, (_, i) => publicJwk(key, { kid: `filler ${i}` }));

// ---- Issuers, one for each path: what they answer to a request for their configuration, and for their keys ----

const zeros = zlib.gzipSync(Buffer.alloc(64 << 20)); // 64 KiB that become 64 MiB
const deep = '{"keys":' + "[".repeat(50000) + "]".repeat(50000) + "}";
const json = (response, text, status = 200, headers = {}) => response.writeHead(status, headers).end(text);
const issuers = {
  ok: {},
  huge: { keys: (response) => json(response, '{"keys":[' + " ".repeat(300000) + "]}") },
  gzip: { keys: (response) => json(response, zeros, 200, { "content-encoding": "gzip" }) },
  deep: { keys: (response) => json(response, deep) },
  garbage: { keys: (response) => json(response, "\0{") },
  empty: { keys: (response) => json(response, '{"keys":[]}') },
  secret: { keys: (response) => json(response, JSON.stringify({ keys: [{ kty: "oct", kid: "ES256", alg: "HS256", k: "AAAA" }] })) },
  moved: { keys: (response) => json(response, "", 302, { location: `${at}/elsewhere/keys` }) },
  elsewhere: { configuration: (response) => json(response, "", 307, { location: `${at}/ok/.well-known/openid-configuration` }) },
  another: { configuration: (response) => json(response, JSON.stringify({ issuer: `${at}/ok`, jwks_uri: `${at}/ok/keys` })) },
  plain: { configuration: (response) => json(response, JSON.stringify({ issuer: `${at}/plain`, jwks_uri: "http://127.0.0.1.example/keys" })) },
  file: { configuration: (response) => json(response, JSON.stringify({ issuer: `${at}/file`, jwks_uri: "file:///etc/passwd" })) },
  many: { keys: (response) => json(response, JSON.stringify({ keys: [publicJwk(key), ...filler, publicJwk(last), publicJwk(beyond)] })) },
  slow: { keys: (response) => response.writeHead(200).write("{") },
};
let followed = 0;
const server = http.createServer((request, response) => {
  const [, name, path] = /^\/(\w+)\/(.*)$/.exec(request.url);
  followed += name === "elsewhere" && path === "keys";
  if (path === "keys") return (issuers[name].keys ?? ((to) => json(to, good)))(response);
  const usual = (to) => json(to, JSON.stringify({ issuer: `${at}/${name}`, jwks_uri: `${at}/${name}/keys` }));
  return (issuers[name].configuration ?? usual)(response);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const at = `http://127.0.0.1:${server.address().port}`;
const names = Object.keys(issuers);

writeGraph("hello");
writeGraph("hours", 36000000);
fs.writeFileSync("tenon.yaml", `store: sqlite
log: info
plugins:
  path: ${whoami}
  drafts: test.whoami
  config:
    tenon.jwt: {issuers: [${names.map((name) => `{issuer: "${at}/${name}", audience: tenon}`).join(", ")}]}
serve: {protocols: [whoami, openai_server, mcp_server], authenticators: jwt}
`);
const host = await serve(tenon, ["hello.yaml", "hours.yaml", "--socket", "s", "--check-plugins"]);

const token = (name, more = {}, by = key) =>
  makeToken({ iss: `${at}/${name}`, aud: "tenon", sub: "ada", exp: now() + 600, ...more }, by);
const ask = (path, bearer, options = {}) =>
  fetch(host.web + path, { ...options, headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json", ...options.headers } });
async function expect(status, path, bearer, options) {
  const response = await ask(path, bearer, options);
  const text = await response.text();
  assert.equal(response.status, status, `${path}: ${text}\n${host.log}`);
  return text.startsWith("{") ? JSON.parse(text) : text;
}

// ---- None of them makes the host accept a token, fetch another address, or lose the good one ----
const gone = new AbortController();
const waits = ask("/whoami", token("slow"), { signal: gone.signal }).catch((error) => error);
await Promise.all(names.filter((name) => !["ok", "many", "slow"].includes(name)).map((name) => expect(503, "/whoami", token(name))));
assert.equal(followed, 0, "a redirect was followed");
await Promise.all([expect(200, "/whoami", token("ok")), expect(200, "/whoami", token("many", {}, last))]);
await expect(401, "/whoami", token("many", {}, beyond)); // the 65th key is not used
for (const why of ["256 KiB|262144", "the answer has no key that can be used", "the status is 302, expected 200", "has another `issuer`", "no `jwks_uri` with https"])
  assert.match(host.log, new RegExp(why));
assert(!host.log.includes("root:"), "a file was read");

// ---- Two users never see each other; another token of the same user sees the same ----
const ada = token("ok"), bob = token("ok", { sub: "bob" });
const post = (body) => ({ method: "POST", body: JSON.stringify(body) });
const made = await expect(200, "/v1/responses", ada, post({ model: "hello", input: "x" }));
await expect(200, `/v1/responses/${made.id}`, ada);
await expect(200, `/v1/responses/${made.id}`, token("ok", { jti: "2" }));
await expect(404, `/v1/responses/${made.id}`, bob);
await expect(404, `/v1/responses/${made.id}`, token("many", {}, last)); // the same `sub` of another issuer

// ---- A stream ends when its token does: with an error, long before its run. It began while the token was valid. ----
let stream;
do {
  stream = await ask("/v1/chat/completions", token("ok", { sub: "eve", exp: now() - 57 }), // 60 s of leeway
    post({ model: "hours", stream: true, messages: [{ role: "user", content: "x" }] }));
} while (stream.status === 401);
assert.equal(stream.status, 200);
const streamed = await stream.text().catch((error) => String(error));
const active = () => JSON.parse(execFileSync(tenon, ["call", "run/list", '{"status": "running"}', "--connect", "s"])).runs;
assert.match(streamed, /PERMISSION_DENIED/, host.log);
while (active().length > 0) await new Promise((done) => setTimeout(done, 50)); // its run is cancelled
await expect(200, "/whoami", ada);

// ---- Clients of MCP learn who makes the tokens ----
const metadata = await (await fetch(`${host.web}/.well-known/oauth-protected-resource/mcp`)).json();
assert.deepEqual(metadata.authorization_servers, names.map((name) => `${at}/${name}`));
const refused = await ask("/mcp", "a.b.c", post({}));
assert.equal(refused.status, 401);
assert.equal(refused.headers.get("www-authenticate"), `Bearer resource_metadata="${host.web}/.well-known/oauth-protected-resource/mcp"`);

// ---- A check that waits does not keep the host ----
gone.abort();
await waits;
const drained = ask("/whoami", token("slow", { sub: "eve" }));
await expect(200, "/whoami", bob);
host.kill("SIGTERM");
assert.equal((await drained).status, 503);
assert.equal(await host.ended, 0, host.log);
server.closeAllConnections();
server.close();
assert(!/Sanitizer|runtime error:|check: /.test(host.log), host.log);
for (const secret of [ada, bob]) assert(!host.log.includes(secret), "the log has a token");
console.log("ok");
