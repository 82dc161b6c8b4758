// validate.mjs - is what a provider sends what the official SDK's types allow? JSON Schemas are generated from the
// TypeScript types of the SDK's npm package, closed to members that they do not name.
//
//   node validate.mjs NODE_MODULES TYPES.d.ts <requests   (TYPES from NODE_MODULES; {A,B}.d.ts are several files)
//
// A request is a line ["TYPE", VALUE]. Prints a line for each request: "ok", or what is wrong. Exit code 2 where no schema
// could be made.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import path from "node:path";

const [modules, types] = process.argv.slice(2);
const require = createRequire(path.resolve(modules) + "/");
const { createGenerator } = require("ts-json-schema-generator");
const Ajv = require("ajv").default;

// To read the types takes longer than everything else, so this is done once.
let generator;
const validators = new Map();
const validatorOf = (type) => {
  try {
    generator ??= createGenerator({
      path: path.resolve(modules, types),
      skipTypeCheck: true,
      additionalProperties: false,
      topRef: true,
      expose: "all",
      jsDoc: "none",
    });
    if (!validators.has(type)) {
      const ajv = new Ajv({ strict: false, allErrors: true, verbose: true, validateFormats: false });
      validators.set(type, ajv.compile(generator.createSchema(type)));
    }
    return validators.get(type);
  } catch (error) {
    console.error(`${type}: ${String(error.message ?? error).slice(0, 2000)}`);
    process.exit(2);
  }
};

// Of a union every branch complains; those that got furthest into the value are about it.
const told = (errors) => {
  const depth = (error) => error.instancePath.split("/").length;
  const deepest = Math.max(...errors.map(depth));
  return errors
    .filter((error) => depth(error) >= deepest - 1)
    .slice(0, 6)
    .map((error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`)
    .join("; ");
};

for (const line of readFileSync(0, "utf8").split("\n")) {
  if (line.trim() === "") continue;
  const [type, value] = JSON.parse(line);
  const validate = validatorOf(type);
  console.log(validate(value) ? "ok" : told(validate.errors));
}
