// Adds the key of TENON_KEY to every HTTP request of a program that has no option for it: node --require with_key.cjs …
const http = require("node:http")
const { createRequire, syncBuiltinESMExports } = require("node:module")
const key = `Bearer ${process.env.TENON_KEY}`

const fetched = globalThis.fetch
globalThis.fetch = (url, options = {}) => {
  const headers = new Headers(options.headers ?? url.headers)
  if (!headers.has("authorization")) headers.set("authorization", key)
  return fetched(url, { ...options, headers })
}

const requested = http.request
http.request = (...parameters) => {
  const request = requested(...parameters)
  if (!request.hasHeader("authorization")) request.setHeader("authorization", key)
  return request
}
syncBuiltinESMExports()

// The package undici of the program, which is not the one behind fetch.
const undici = createRequire(process.argv[1])("undici")
const sent = undici.request
undici.request = (url, options = {}) => sent(url, { ...options, headers: { authorization: key, ...options.headers } })
