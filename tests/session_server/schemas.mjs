// Each line of the files matches its schema: node schemas.mjs FOLDER FILE…
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import Ajv from 'ajv/dist/2020.js'

const [, , folder, ...files] = process.argv
const ajv = new Ajv({ strict: false })
const compile = (name) => ajv.compile(JSON.parse(readFileSync(`${folder}/${name}.schema.json`)))
const kinds = { stream: compile('stream_response_data'), response: compile('agent_response_data') }
compile('session_data')
let count = 0
for (const line of files.flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean))) {
  const [[kind, value]] = Object.entries(JSON.parse(line))
  assert.ok(kinds[kind](value), `${JSON.stringify(kinds[kind].errors)} ${line}`)
  count++
}
assert.ok(count > 50)
