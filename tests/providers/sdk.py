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

    def validate(self, types, name, requests):
        """Returns "ok" or a message for each request."""
        script = os.path.join(d.HERE, "validate.mjs")
        lines = "".join(json.dumps(request) + "\n" for request in requests)
        process = subprocess.run(
            ["node", script, self.modules, types, name], input=lines, capture_output=True, text=True, check=False
        )
        if process.returncode != 0:
            raise SystemExit(f"no schema of {name}: {process.stderr}")
        verdicts = process.stdout.splitlines()
        assert len(verdicts) == len(requests)
        return verdicts

    def check(self, types, name, named_requests):
        """Checks that every request is valid, and that a request with an unknown member is not."""
        d.check(named_requests, f"no requests to check against {name}")
        requests = [request for _, request in named_requests]
        *verdicts, of_invalid = self.validate(types, name, [*requests, {**requests[0], "no_such_member": 1}])
        for (title, request), verdict in zip(named_requests, verdicts):
            d.check(verdict == "ok", f"{title}: {verdict}\n  {json.dumps(request)[:3000]}")
        d.check(of_invalid != "ok", f"{name} allows any member")
        print(f"{len(named_requests)} requests against {name}")
