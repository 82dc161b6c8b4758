// jwt.mjs - an issuer with real keys, and one host with two kinds of rules: which tokens it accepts, when it fetches the
// keys, and what it does when the issuer is away. tests/e2e/serve/jwt.sh starts it.
//
//     node jwt.mjs TENON WHOAMI.so
import assert from "node:assert/strict";
import crypto from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import { base64url, kinds, makeKey, now, publicJwk, serve, sign, writeGraph } from "./jwt_parts.mjs";

const [tenon, whoami] = process.argv.slice(2);
// ---- The issuer ----

const issuer = { fetches: 0, configurations: 0, keys: [], away: false, hold: null, configuration: {} };
const server = http.createServer(async (request, response) => {
  if (issuer.hold) await issuer.hold;
  if (issuer.away) return response.writeHead(500).end();
  const at = `http://127.0.0.1:${server.address().port}`;
  const found = request.url.startsWith("/other/") ? `${at}/other` : at;
  if (request.url.endsWith("/.well-known/openid-configuration")) {
    issuer.configurations++;
    return response.end(JSON.stringify({ issuer: found, jwks_uri: `${at}/keys`, ...issuer.configuration }));
  }
  issuer.fetches++;
  response.end(JSON.stringify({ keys: issuer.keys }));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const iss = `http://127.0.0.1:${server.address().port}`;

// ---- The host ----

writeGraph("hello");
fs.writeFileSync("tenon.yaml", `store: sqlite
log: info
plugins:
  path: ${whoami}
  drafts: test.whoami
  config:
    tenon.jwt:
      issuers:
        - {issuer: "${iss}", audience: [tenon, other-host]}
        - {issuer: "${iss}/other", audience: tenon, jwks_url: "${iss}/keys", owner_claim: login,
           scopes: {claim: permissions, map: {look: read, use: run}}}
        - {issuer: "http://127.0.0.1:1", audience: tenon}
serve: {protocols: [whoami], authenticators: jwt, tls: false}
`);
const host = await serve(tenon, ["hello.yaml", "--address", "0.0.0.0"]), web = host.web;
assert(!host.log.includes("tenon: key"), "a key was generated");

async function ask(token, { path = "/whoami", headers = { authorization: `Bearer ${token}` } } = {}) {
  const response = await fetch(web + path, { headers });
  const text = await response.text();
  assert(!text.includes(token), "the answer has the token");
  return { status: response.status, json: text.startsWith("{") ? JSON.parse(text) : null, headers: response.headers };
}
async function expect(status, token, what, options) {
  const answer = await ask(token, options);
  assert.equal(answer.status, status, `${what}: ${JSON.stringify(answer.json)}\n${host.log}`);
  return answer;
}

// ---- Tokens ----

const keys = Object.fromEntries(Object.keys(kinds).map((alg) => [alg, makeKey(alg)]));
const claims = (more = {}) => ({ iss, aud: "tenon", sub: "user 1", exp: now() + 600, iat: now(), ...more });
function token(body = claims(), { alg = "ES256", key = keys[alg]?.privateKey, header = {} } = {}) {
  const head = { alg, typ: "JWT", kid: alg, ...header };
  const text = `${base64url(JSON.stringify(head))}.${base64url(typeof body === "string" ? body : JSON.stringify(body))}`;
  return `${text}.${base64url(key ? sign(alg, key, Buffer.from(text)) : "")}`;
}

// ---- The issuer is away, then not; requests that come meanwhile wait for one fetch ----
issuer.keys = Object.values(keys).map((key) => publicJwk(key));
await expect(503, token(claims({ iss: "http://127.0.0.1:1" })), "an issuer that does not answer");
let release;
issuer.hold = new Promise((done) => (release = done));
const waiting = Array.from({ length: 20 }, (_, i) => expect(200, token(claims({ sub: `user ${i}` })), "waits for the keys"));
const gone = new AbortController();
const left = fetch(`${web}/whoami`, { signal: gone.signal, headers: { authorization: `Bearer ${token(claims({ sub: "gone" }))}` } });
setTimeout(() => gone.abort(), 100);
await assert.rejects(left);
release();
issuer.hold = null;
const owners = new Set((await Promise.all(waiting)).map((answer) => answer.json.owner));
assert.equal(owners.size, 20, "each subject has an owner");
for (const owner of owners) assert.match(owner, /^jwt-[a-z2-7]{20}$/);
assert.deepEqual([issuer.configurations, issuer.fetches], [1, 1], "one fetch for all");

// ---- Every algorithm; who it is ----
for (const alg of Object.keys(kinds)) await expect(200, token(claims(), { alg }), alg);
const first = (await expect(200, token(), "a user")).json;
assert.equal(first.owner, `jwt-${(() => {
  const bits = [...crypto.createHash("sha256").update(`${iss}\0user 1`).digest()].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return Array.from({ length: 20 }, (_, i) => "abcdefghijklmnopqrstuvwxyz234567"[parseInt(bits.slice(5 * i, 5 * i + 5), 2)]).join("");
})()}`);
assert.deepEqual({ ...first, number: 0 }, { number: 0, name: `jwt:${first.owner}`, owner: first.owner, scope: "run" });
const again = token(claims({ jti: "2" }));
assert.deepEqual((await expect(200, again, "another token")).json, first, "the same user is the same caller");
await expect(200, again, "x-api-key", { headers: { "x-api-key": again } });
assert.equal((await expect(200, again, "a method", { path: "/graphs" })).json.graphs.length, 1);
for (const good of [
  token(claims({ aud: ["x", "other-host"] })), token(claims({ exp: now() - 30 })), token(claims({ nbf: now() + 30, iat: now() + 30 })),
  token(claims({ exp: now() + 600.5 })), token(claims(), { header: { typ: "at+JWT" } }), token(claims(), { header: { typ: undefined } }),
  token(claims(), { header: { kid: undefined } }),
]) await expect(200, good, "a good token");

// ---- Tokens that are refused ----
const rsa = keys.RS256.publicKey;
const text = token(), [head, body, signature] = text.split(".");
const other = makeKey("ES256"), raw = Buffer.from(signature, "base64url");
const der = crypto.sign("sha256", Buffer.from(`${head}.${body}`), keys.ES256.privateKey);
const bad = {
  "another audience": token(claims({ aud: "else" })), "no audience": token(claims({ aud: undefined })),
  "an audience of another kind": token(claims({ aud: { tenon: 1 } })), "audience in part": token(claims({ aud: ["ten", "tenon2"] })),
  "another issuer": token(claims({ iss: `${iss}/` })), "no issuer": token(claims({ iss: undefined })),
  "an issuer with a NUL": token(claims({ iss: `${iss}\0` })),
  expired: token(claims({ exp: now() - 61 })), "no exp": token(claims({ exp: undefined })), "exp as text": token(claims({ exp: "9999999999" })),
  "exp too large": token(claims({ exp: 1e300 })), "exp negative": token(claims({ exp: -1 })), "not yet": token(claims({ nbf: now() + 120 })),
  "iat in the future": token(claims({ iat: now() + 120 })), "no sub": token(claims({ sub: undefined })), "sub not a text": token(claims({ sub: 1 })),
  none: token(claims(), { alg: "none", key: null }), None: token(claims(), { alg: "None", key: null }),
  "none with a kid": token(claims(), { alg: "none", key: null, header: { kid: "RS256" } }), "no signature": `${head}.${body}.`,
  "HS256 with the public key": token(claims(), { alg: "HS256", key: rsa.export({ type: "spki", format: "pem" }), header: { kid: "RS256" } }),
  "HS256 with the public key in DER": token(claims(), { alg: "HS256", key: rsa.export({ type: "spki", format: "der" }), header: { kid: "RS256" } }),
  "HS256 with the modulus": token(claims(), { alg: "HS256", key: Buffer.from(publicJwk(keys.RS256).n, "base64url"), header: { kid: "RS256" } }),
  "another key": token(claims(), { key: other.privateKey }),
  "the token's own key": token(claims(), { key: other.privateKey, header: { jwk: publicJwk(other), jku: `${iss}/evil` } }),
  "a key of another kind": token(claims(), { alg: "ES256", header: { kid: "RS256" } }),
  "a key of another curve": token(claims(), { alg: "ES384", header: { kid: "ES256" } }),
  "another body": `${head}.${base64url(JSON.stringify(claims({ sub: "admin" })))}.${signature}`,
  "a changed signature": `${head}.${body}.${base64url(Buffer.concat([raw.subarray(0, 63), Buffer.from([raw[63] ^ 1])]))}`,
  "a signature of zeros": `${head}.${body}.${base64url(Buffer.alloc(64))}`, "a short signature": `${head}.${body}.${base64url(raw.subarray(0, 63))}`,
  "a signature in DER": `${head}.${body}.${base64url(der)}`, "a long signature": `${head}.${body}.${base64url(Buffer.alloc(1100))}`,
  "padding": `${head}.${body}.${signature}==`, "four parts": `${text}.x`, "five parts": `${text}.x.y`, "two parts": `${head}.${body}`,
  "no claims": `${head}..${signature}`, "claims that are a list": token("[]"), "claims that are no JSON": token("{"),
  "a name twice": token(`{"iss":"${iss}","aud":"else","aud":"tenon","sub":"a","exp":${now() + 600}}`),
  crit: token(claims(), { header: { crit: ["exp"] } }), b64: token(claims(), { header: { b64: false } }),
  "another type": token(claims(), { header: { typ: "logout+jwt" } }), "type of another kind": token(claims(), { header: { typ: 1 } }),
  "kid of another kind": token(claims(), { header: { kid: 1 } }), "no alg": token(claims(), { header: { alg: undefined } }),
  "a long subject": token(claims({ sub: "x".repeat(1025) })), "a key of tenon": "tn_" + "x".repeat(49), dots: "..", empty: "a.b.c",
};
for (const [what, wrong] of Object.entries(bad)) {
  const answer = await expect(401, wrong, what);
  assert.match(answer.headers.get("www-authenticate"), /error="invalid_token"/, what);
}
await expect(431, token(claims({ more: "x".repeat(12000) })), "a huge token");

// ---- Scopes and owners by claims ----
const second = (more) => token(claims({ iss: `${iss}/other`, login: "alice", ...more }));
for (const [permissions, status, scope] of [["look", 200, "read"], ["x use look", 200, "run"], [["use"], 200, "run"], ["admin", 403], ["", 403],
  [undefined, 403], [{ use: 1 }, 403], ["useful", 403], [["look use"], 403]]) {
  const answer = await expect(status, second({ permissions }), JSON.stringify(permissions));
  if (scope) assert.deepEqual([answer.json.owner, answer.json.scope, answer.json.name], ["alice", scope, "jwt:alice"]);
  if (!scope) assert.match(answer.headers.get("www-authenticate"), /insufficient_scope/);
}
for (const login of [undefined, "", "Alice", "a b", "@a:", "a".repeat(33), 1, "a\0", ".a"])
  await expect(401, second({ permissions: "use", login }), `the owner ${login}`);

// ---- Rotation: an unknown key causes one fetch, and no more for a minute; a known one needs none ----
const before = issuer.fetches, next = makeKey("ES256", "next"), late = makeKey("ES256", "late");
const withKey = (key, more) => token(claims(more), { key: key.privateKey, header: { kid: key.kid } });
issuer.keys = [publicJwk(next), publicJwk(makeKey("RS256", "short", ["rsa", { modulusLength: 1024 }])), publicJwk(makeKey("RS384", "enc"), { use: "enc" }),
  { kty: "oct", kid: "secret", k: "AAAA" }, { kty: "EC", crv: "P-256", kid: "off the curve", x: base64url(Buffer.alloc(32, 1)), y: base64url(Buffer.alloc(32, 2)) }, 1, null, {}];
await expect(200, token(claims({ sub: "known" })), "a known key");
assert.equal(issuer.fetches, before, "fetched again for a known key");
await expect(200, withKey(next, { sub: "rotation" }), "a new key");
assert.equal(issuer.fetches, before + 1);
issuer.keys.push(publicJwk(late));
for (const kid of ["ES256", "late", "short", "enc", "secret", "off the curve", "", "x".repeat(300)])
  await expect(401, token(claims({ sub: kid }), { key: late.privateKey, header: { kid } }), `the key ${kid}`);
await expect(401, token(claims({ sub: "gone" })), "a key that the issuer does not have any more");
await expect(401, token(claims({ sub: "public" }), { alg: "HS256", key: Buffer.from("AAAA", "base64url"), header: { kid: "secret" } }), "a shared secret");
assert.equal(issuer.fetches, before + 1, "fetched twice in a minute");
await expect(200, withKey(late, { iss: `${iss}/other`, permissions: "use", login: "bob" }), "each issuer has its own minute");

// ---- The issuer is away: keys that are known stay valid ----
issuer.away = true;
await expect(200, withKey(next, { sub: "away" }), "while the issuer is away");
server.close();
server.closeAllConnections();
await expect(200, withKey(next, { sub: "away 2" }), "after the issuer has ended");

host.kill("SIGTERM");
assert.equal(await host.ended, 0, host.log);
assert(!/Sanitizer|runtime error:/.test(host.log), host.log);
for (const secret of [text, signature, again]) assert(!host.log.includes(secret), "the log has a token");
console.log("ok");
