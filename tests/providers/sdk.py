"""Checks requests against the types of the official SDKs: packages of tests/npm, and JSON Schemas generated from their TypeScript.

    sdk = Sdk("openai6")                           # skips the test if it cannot be installed
    sdk.check("openai6/resources/embeddings.d.ts", "EmbeddingCreateParams", [("name", request), …])

Unknown members are rejected, so that a misspelt one is found. Set TENON_NPM=off to skip.
"""
import json
import os
import shutil
import subprocess
import sys

import drive as d

TOOLS = ["ts-json-schema-generator", "ajv"]


class Sdk:
    def __init__(self, package):
        if os.environ.get("TENON_NPM") == "off":
            d.skip("TENON_NPM=off")
        if not shutil.which("node"):
            d.skip("node is not installed")
        folder = os.path.join(os.environ["BINARY"], "npm")
        self.modules = os.path.join(folder, "node_modules")
        command = [sys.executable, os.path.join(d.HERE, "..", "npm", "install"), folder, package, *TOOLS]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode != 0:
            d.skip(process.stderr.strip()[-300:])

    def validate(self, types, requests):
        """Returns "ok" or a message for each request, which is a pair: the name of its type, and its value."""
        script = os.path.join(d.HERE, "validate.mjs")
        lines = "".join(json.dumps(request) + "\n" for request in requests)
        process = subprocess.run(
            ["node", script, self.modules, types], input=lines, capture_output=True, text=True, check=False
        )
        if process.returncode != 0:
            raise SystemExit(f"no schema of {types}: {process.stderr}")
        verdicts = process.stdout.splitlines()
        assert len(verdicts) == len(requests)
        return verdicts

    def check(self, types, name, named_requests):
        self.check_all(types, {name: named_requests})

    def check_all(self, types, named_requests_of, invalid=()):
        """Checks that every request is valid, and that one with an unknown member is not, and none of those in `invalid`."""
        rows, refused = [], list(invalid)
        for name, named_requests in named_requests_of.items():
            d.check(named_requests, f"no requests to check against {name}")
            rows += [(title, name, request) for title, request in named_requests]
            refused.append((name, {**named_requests[0][1], "no_such_member": 1}))
            print(f"{len(named_requests)} requests against {name}")
        verdicts = self.validate(types, [row[1:] for row in rows] + refused)
        for (title, _, request), verdict in zip(rows, verdicts):
            d.check(verdict == "ok", f"{title}: {verdict}\n  {json.dumps(request)[:3000]}")
        for (name, request), verdict in zip(refused, verdicts[len(rows) :]):
            d.check(verdict != "ok", f"{name} allows {json.dumps(request)[:3000]}")
