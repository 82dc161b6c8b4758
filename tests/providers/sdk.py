"""Checks requests against the types of the official SDKs: packages from npm, and JSON Schemas generated from their TypeScript.

    sdk = Sdk("openai@6.49.0")                     # skips the test if npm cannot install it
    sdk.check("openai/resources/embeddings.d.ts", "EmbeddingCreateParams", [("name", request), …])

Unknown members are rejected, so that a misspelt one is found. Set TENON_NPM=off to skip.
"""
import fcntl
import json
import os
import re
import shutil
import subprocess

import drive as d

TOOLS = ["ts-json-schema-generator@2.9.0", "ajv@8.20.0"]


class Sdk:
    def __init__(self, package):
        if os.environ.get("TENON_NPM") == "off":
            d.skip("TENON_NPM=off")
        if not shutil.which("npm") or not shutil.which("node"):
            d.skip("node and npm are not installed")
        folder = os.path.join(os.environ["BINARY"], "npm", re.sub(r"[^A-Za-z0-9.-]+", "-", package))
        os.makedirs(folder, exist_ok=True)
        self.modules = os.path.join(folder, "node_modules")
        with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(os.path.join(folder, "done")):
                return
            with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as file:
                file.write('{"private": true}\n')
            command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"]
            try:
                process = subprocess.run(
                    [*command, package, *TOOLS], cwd=folder, capture_output=True, text=True, timeout=240, check=False
                )
            except subprocess.TimeoutExpired:
                d.skip("npm did not answer in time")
            if process.returncode != 0:
                d.skip(f"npm could not install {package}: {process.stderr.strip()[-300:]}")
            with open(os.path.join(folder, "done"), "w", encoding="utf-8"):
                pass

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
