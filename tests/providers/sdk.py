"""Requests against the official SDKs' types: packages from npm into the build folder, schemas made of their TypeScript.

    sdk = Sdk("openai@6.49.0")                     # skips the test where npm is not there, or reaches nothing
    sdk.check("openai/resources/embeddings.d.ts", "EmbeddingCreateParams", [("name", request), …])

A type is closed to members that it does not name, so that a misspelt one is found. Set TENON_NPM=off to skip.
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
                ran = subprocess.run(
                    [*command, package, *TOOLS], cwd=folder, capture_output=True, text=True, timeout=240, check=False
                )
            except subprocess.TimeoutExpired:
                d.skip("npm did not answer in time")
            if ran.returncode != 0:
                d.skip(f"npm could not install {package}: {ran.stderr.strip()[-300:]}")
            with open(os.path.join(folder, "done"), "w", encoding="utf-8"):
                pass

    def judge(self, types, name, requests):
        """For each request "ok", or what is wrong with it."""
        script = os.path.join(d.HERE, "validate.mjs")
        lines = "".join(json.dumps(request) + "\n" for request in requests)
        ran = subprocess.run(
            ["node", script, self.modules, types, name], input=lines, capture_output=True, text=True, check=False
        )
        if ran.returncode != 0:
            raise SystemExit(f"no schema of {name}: {ran.stderr}")
        verdicts = ran.stdout.splitlines()
        assert len(verdicts) == len(requests)
        return verdicts

    def check(self, types, name, named):
        """Every one is allowed; and none with a member more, so that the schema is known to say no."""
        verdicts = self.judge(types, name, [request for _, request in named])
        for (title, request), verdict in zip(named, verdicts):
            d.check(verdict == "ok", f"{title}: {verdict}\n  {json.dumps(request)[:3000]}")
        if named:
            spoilt = {**named[0][1], "no_such_member": 1}
            d.check(self.judge(types, name, [spoilt])[0] != "ok", f"{name} allows any member")
        print(f"{len(named)} requests against {name}")
