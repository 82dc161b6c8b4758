// jwt_parts.mjs - keys of an issuer, and the start of a host, for jwt.mjs and jwt_hostile.mjs.
import { spawn } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";

export const base64url = (data) => Buffer.from(data).toString("base64url");

export const kinds = {
  RS256: null, RS384: null, RS512: null, PS256: null,
  ES256: ["ec", { namedCurve: "P-256" }], ES384: ["ec", { namedCurve: "P-384" }], EdDSA: ["ed25519", {}],
};
const rsa = crypto.generateKeyPairSync("rsa", { modulusLength: 2048 }); // one is enough: it takes long to make
export const makeKey = (alg, kid = alg, kind = kinds[alg]) => ({ alg, kid, ...(kind ? crypto.generateKeyPairSync(...kind) : rsa) });
export const publicJwk = (key, more = {}) => ({ ...key.publicKey.export({ format: "jwk" }), kid: key.kid, use: "sig", ...more });

export function sign(alg, key, text) {
  const hash = "sha" + alg.slice(2);
  if (alg === "EdDSA") return crypto.sign(null, text, key);
  if (alg.startsWith("HS")) return crypto.createHmac(hash, key).update(text).digest();
  if (alg.startsWith("ES")) return crypto.sign(hash, text, { key, dsaEncoding: "ieee-p1363" });
  if (alg.startsWith("PS"))
    return crypto.sign(hash, text, { key, padding: crypto.constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 });
  return crypto.sign(hash, text, key);
}

export const now = () => Math.floor(Date.now() / 1000);

export function makeToken(claims, key, header = {}) {
  const head = { alg: key.alg, typ: "JWT", kid: key.kid, ...header };
  const text = `${base64url(JSON.stringify(head))}.${base64url(JSON.stringify(claims))}`;
  return `${text}.${base64url(sign(key.alg, key.privateKey, Buffer.from(text)))}`;
}

/* A graph, as the file FILE.yaml: it sets a channel, and waits. */
export function writeGraph(file, ms) {
  const wait = ms ? `\n  - {id: b, type: delay, config: {ms: ${ms}}}` : "";
  fs.writeFileSync(`${file}.yaml`, `version: "1.0"
agent: {name: ${file}}
channels: [{name: messages, type: reduce, reducer: messages}, {name: name, type: last_value}]
nodes:
  - {id: a, type: set, config: {values: {name: "1"}}}${wait}
edges: [{from: START, to: a}, ${ms ? "{from: a, to: b}, {from: b, to: END}" : "{from: a, to: END}"}]
`);
}

/* `tenon serve` with these arguments: its address, what it has written to the log, its end. */
export async function serve(tenon, args) {
  const host = { log: "" };
  const child = spawn(tenon, ["serve", ...args, "--port", "0"], { stdio: ["ignore", "ignore", "pipe"] });
  host.ended = new Promise((done) => child.on("exit", (code) => done(code)));
  host.kill = (signal) => child.kill(signal);
  host.web = await new Promise((done, fail) => {
    host.ended.then(() => fail(new Error(`the host has ended: ${host.log}`)));
    child.stderr.on("data", (data) => {
      host.log += data;
      const found = /tenon: (http:\S+) serves/.exec(host.log);
      if (found) done(found[1].replace("0.0.0.0", "127.0.0.1"));
    });
  });
  return host;
}
