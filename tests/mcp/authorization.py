"""authorization.py: the plugin tenon.mcp and servers that require authorization.

Clients are machines (client credentials, keys, assertions) or people (a browser). Servers can have a defect.
"""
import glob
import json
import os
import shutil
import socket
import stat
import subprocess
import time

from guarded import Server
from harness import TENON, call, check, configure, first_question, run_tests, tenon
from person import answer_question, last_redirect, page_of, run_at_terminal

os.environ["CLIENT_SECRET"] = "s3cret/of the+client"
SECRET = {"secrets": {"CLIENT_SECRET": {"env": "CLIENT_SECRET"}}}
CLIENT_CREDENTIALS = {"grant": "client_credentials", "client_id": "id", "client_secret": {"secret": "CLIENT_SECRET"}}


def requests(server, path):
    """The parameters of the requests for `path`."""
    return [parameters for _, requested, parameters in server.seen if requested == path]


def check_no_secrets(text, *servers):
    for server in servers:
        for secret in server.secrets + ["s3cret/of", "s3cret%2Fof"]:
            check(secret not in text, "the output contains a secret: " + secret, text)


# ---- Metadata ----

METADATA_DEFECTS = {
    "other issuer": "for the issuer `https://honest.example`; expected exactly `http://127.0.0.1:",
    "slash": "expected exactly",
    "other resource": "for the resource `https://evil.example/mcp`; expected http://127.0.0.1:",
    "path prefix": "/mc`; expected http://127.0.0.1:",
    "empty list": "names no authorization server",
    "http issuer": "the authorization server `http://example.com`; expected `authorization_servers` with an https address",
    "no pkce": "`code_challenge_methods_supported` is missing; expected S256",
    "plain pkce": "does not have S256",
    "no token endpoint": "has no `token_endpoint`",
    "http token endpoint": "`token_endpoint` is `http://example.com/token`; expected an https URL",
    "script url": "`authorization_endpoint` is `javascript:alert(1)`; expected an https URL",
    "huge": "exceeds the 262144 bytes",
    "html": "not a JSON object",
    "broken": "HTTP status 503",
    "loop": "redirect",
    "no server": "has no metadata at the URLs of RFC 8414 and OpenID Connect",
    "no metadata": "it requires authentication (HTTP status 401) but names no authorization server",
    "no metadata document": "its challenge names metadata at http://127.0.0.1:",
    "no registration endpoint": "does not register clients; register one manually and set its `client_id`",
    "no registration": "did not register this client (invalid_redirect_uri, HTTP status 400)",
    "no id": "registered this client without a `client_id`",
    "two issuers": "has no metadata",
}


def test_wrong_metadata():
    servers = {quirk: Server(quirk) for quirk in METADATA_DEFECTS}
    configure({quirk.replace(" ", "-"): {"url": server.url + "/mcp"} for quirk, server in servers.items()})
    result = call("mcp.servers")
    about = {server["name"]: server for server in result.json(0)["servers"]}
    for quirk, server in servers.items():
        reported = about[quirk.replace(" ", "-")]
        check(reported["state"] == "failed" and METADATA_DEFECTS[quirk] in reported["why"], quirk, reported.get("why"), server.seen)
        check(not requests(server, "/token") and not requests(server, "/authorize"), "no request for authorization: " + quirk, server.seen)
    check(len([1 for _, path, _ in servers["loop"].seen if "protected" in path]) == 4, "at most 3 redirects are followed", servers["loop"].seen)


def test_configured_issuers():
    pinned, elsewhere, off, insecure = Server("two issuers"), Server(), Server(), Server()
    servers = {"pinned": {"url": pinned.url + "/mcp", "oauth": {**CLIENT_CREDENTIALS, "issuer": pinned.url}},
               "elsewhere": {"url": elsewhere.url + "/mcp", "oauth": {**CLIENT_CREDENTIALS, "issuer": "https://other.example"}},
               "off": {"url": off.url + "/mcp", "oauth": False},
               "insecure": {"url": "http://0.0.0.0:%d/mcp" % insecure.server_port}}
    pinned.client_secret = elsewhere.client_secret = os.environ["CLIENT_SECRET"]
    configure(servers, **SECRET)
    result = call("pinned.t", "mcp.servers")
    about = {server["name"]: server for server in result.json(1)["servers"]}
    check(result.contents[0] == "fine", "the configured one of two issuers", result.contents, result.err)
    check("`issuer` in tenon.yaml is https://other.example" in about["elsewhere"]["why"], "an issuer that the server does not name", about)
    check(not requests(elsewhere, "/token"), "the secret is not sent", elsewhere.seen)
    check("its `url` is not https" in about["insecure"]["why"] and len(insecure.seen) == 1, "a server without TLS", about, insecure.seen)
    check("401" in about["off"]["why"] and len(off.seen) <= 2, "`oauth: false` requests no metadata", about, off.seen)


# ---- Machines ----

def start_machine_servers(**quirks):
    """Starts servers for clients with credentials, and configures them. Returns {name: server}."""
    shutil.rmtree("tokens", ignore_errors=True)
    servers = {name: Server(quirk, client_secret=os.environ["CLIENT_SECRET"], **more) for name, (quirk, more) in quirks.items()}
    configure({name: {"url": server.url + "/mcp", "oauth": CLIENT_CREDENTIALS} for name, server in servers.items()}, **SECRET)
    return servers


def test_machines():
    servers = start_machine_servers(basic=("", {}), post=("", {"methods": ["client_secret_post"]}), once=("one use", {}), short=("", {"expires_in": 1}),
                       bare=("no metadata url", {}))
    result = call("basic.t", "basic.w", "post.t", "once.t", "once.t", "short.t", "bare.t", options=("--record", "recorded", "--thread", "m"))
    check(result.contents == ["fine"] * 7, "each method of authentication", result.contents, result.err)
    sent = requests(servers["basic"], "/token")
    check([form.get("scope") for form in sent] == ["read", "read write"], "a new scope is added to the granted one", sent)
    check(all(form["resource"] == servers["basic"].url + "/mcp" for form in sent), "the resource is sent", sent)
    check(len(requests(servers["once"], "/token")) >= 2, "an expired token is replaced", servers["once"].seen)
    recording = "".join(open(path, errors="replace").read() for path in glob.glob("recorded/*"))
    check("mcp-access-token" in recording, "recorded", recording[:2000])
    check_no_secrets(result.out + result.err + recording + tenon("thread", "export", "m").out, *servers.values())
    count = len(servers["basic"].seen)
    again = call("basic.t", "basic.w", options=("--replay", "recorded"))
    check(again.contents == ["fine"] * 2 and len(servers["basic"].seen) == count, "replayed", again.contents, again.err)
    check(not glob.glob("tokens/*"), "tokens of machines are not stored", glob.glob("tokens/*"))


LEAKS = ("status 500", "error", "error in a stream", "result", "status 401", "status 302", "status 403")


def test_servers_that_send_the_token_back():
    """A secret in a result, an error, or a header is neither printed nor recorded."""
    for leak in LEAKS:
        servers = start_machine_servers(p=("leak: " + leak, {}))
        shutil.rmtree("recorded", ignore_errors=True)
        thread = "s" + leak.replace(" ", "-")
        result = call("p.t", options=("--record", "recorded", "--thread", thread))
        recording = "".join(open(path, errors="replace").read() for path in glob.glob("recorded/*"))
        check("redacted" in recording and "p.t" in result.out + result.err, "the call is recorded", leak, result.out, result.err, recording)
        check(any(path == "/mcp" and method == "tools/call" for _, path, method in servers["p"].seen), "the server received the call", servers["p"].seen)
        check_no_secrets(result.out + result.err + recording + tenon("thread", "export", thread).out, *servers.values())


def test_refused_machines():
    quirks = {"token": ("no token", {}), "split": ("split token", {}), "type": ("other type", {}), "rejects": ("rejects tokens", {}),
              "more": ("scope never enough", {}), "stranger": ("", {}), "nonces": ("endless nonces", {}), "which": ("no scope", {})}
    servers = start_machine_servers(**quirks)
    servers["stranger"].client_secret = "another"
    result = call("more.w", "mcp.servers", "which.t")
    about = {server["name"]: server.get("why", "") for server in result.json(1)["servers"]}
    check("without an `access_token`" in about["token"] and "without an `access_token`" in about["split"], "no token", about)
    check("of another type than requested" in about["type"], "a token of another type", about)
    check("but does not state which" in result.contents[2] and len(requests(servers["which"], "/token")) == 1, "a missing scope without a name", result.contents)
    check("refused several tokens" in about["nonces"], "endless nonces", about)
    check(servers["nonces"].seen.count(("POST", "/mcp", "server/discover")) == 4, "three retries", servers["nonces"].seen)
    check("refused a new token of" in about["rejects"], "a server that rejects new tokens", about)
    check(len(requests(servers["rejects"], "/token")) == 1, "no second token is requested", servers["rejects"].seen)
    check("invalid_client" in about["stranger"] and "`client_secret`" in about["stranger"], "a wrong secret", about)
    check("it requires the scope `a b`" in result.contents[0], "endless scopes", result.contents)
    check(len(requests(servers["more"], "/token")) == 2, "one more token, not a third", servers["more"].seen)
    check_no_secrets(result.out + result.err, *servers.values())


def test_keys_and_assertions():
    servers, configured, secrets = {}, {}, {"CLIENT_SECRET": {"env": "CLIENT_SECRET"}, "ASSERTION": {"env": "ASSERTION"}}
    os.environ["ASSERTION"] = "signed.by.provider"
    kinds = {"ec": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], "rsa": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
             "weak": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"]}
    if not shutil.which("openssl"):
        kinds = {}
    for kind, options in kinds.items():
        subprocess.run(["openssl", "genpkey", *options, "-out", kind + ".pem"], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", kind + ".pem", "-pubout", "-out", kind + ".pub"], check=True, capture_output=True)
        secrets[kind.upper() + "_KEY"] = {"file": os.path.abspath(kind + ".pem")}
        servers[kind] = Server(public_key=os.path.abspath(kind + ".pub"), methods=["private_key_jwt"])
        oauth = {"grant": "client_credentials", "client_id": "id", "private_key": {"secret": kind.upper() + "_KEY"}, "key_id": "k"}
        configured[kind] = {"url": servers[kind].url + "/mcp", "oauth": oauth}
    idp, secrets["ID_TOKEN"] = Server(client_secret=os.environ["CLIENT_SECRET"]), {"env": "ID_TOKEN"}
    os.environ["ID_TOKEN"] = "id.token.value"
    provider = {"token_url": idp.url + "/token", "client_id": "id", "client_secret": {"secret": "CLIENT_SECRET"}, "id_token": {"secret": "ID_TOKEN"}}
    servers["enterprise"] = Server(client_secret=os.environ["CLIENT_SECRET"])
    configured["enterprise"] = {"url": servers["enterprise"].url + "/mcp", "oauth": {**CLIENT_CREDENTIALS, "grant": "enterprise", "idp": provider}}
    servers["bearer"] = Server(client_secret=os.environ["CLIENT_SECRET"])
    configured["bearer"] = {"url": servers["bearer"].url + "/mcp",
                            "oauth": {**CLIENT_CREDENTIALS, "grant": "jwt_bearer", "assertion": {"secret": "ASSERTION"}}}
    configure(configured, secrets=secrets)
    valid = [name for name in servers if name != "weak"]
    result = call("mcp.servers", *[name + ".t" for name in valid])
    check(result.contents[1:] == ["fine"] * len(valid), "all grants", result.contents, result.err)
    about = {server["name"]: server.get("why", "") for server in result.json(0)["servers"]}
    check("weak" not in servers or "`private_key` cannot sign" in about["weak"], "a key that is too short", about)
    exchanged = requests(idp, "/token")[0]
    check(exchanged["audience"] == servers["enterprise"].url and exchanged["resource"] == servers["enterprise"].url + "/mcp", "audience and resource of the exchange", exchanged)
    check("id.token.value" not in json.dumps(servers["enterprise"].seen) + result.out + result.err, "the id token is sent to the provider only", result.err)
    check("PRIVATE KEY" not in result.out + result.err and "signed.by" not in result.out + result.err, "the output contains a key", result.out, result.err)


# ---- People ----

def start_person_server(quirk="", **more):
    shutil.rmtree("tokens", ignore_errors=True)
    server = Server(quirk, **more)
    configure({"p": {"url": server.url + "/mcp"}})
    return server


def connect(change=lambda address: address):
    """One process asks. Another process answers with the address that the page redirected to."""
    thread = "c%d" % time.monotonic_ns()
    question = first_question(thread, call(("mcp.servers", {"connect": "p"}), options=("--thread", thread)))
    answer = "%s=%s" % (question["id"], json.dumps(change(last_redirect(question["payload"]["url"]))))
    result = tenon("run", "call.yaml", "--thread", thread, "--resume", "--answer", answer)
    result.payload, result.thread = question["payload"], thread
    return result


def stored():
    """The path and contents of the only file of tokens."""
    (path,) = glob.glob("tokens/*")
    check(stat.S_IMODE(os.stat(path).st_mode) == 0o600 and stat.S_IMODE(os.stat("tokens").st_mode) == 0o700, "modes", path)
    with open(path) as file:
        return path, json.load(file)


def change_stored_token(**members):
    path, record = stored()
    record["token"].update(members)
    with open(path, "w") as file:
        json.dump(record, file)


def test_person_with_an_address():
    server = start_person_server()
    result = connect()
    check(result.json(0)["servers"][0]["state"] == "ready", "permission was granted", result.contents, result.err)
    check(result.payload["mode"] == "authorization" and result.payload["server"] == "p", "the question", result.payload)
    registered = requests(server, "/register")[0]
    check(registered["application_type"] == "native" and "refresh_token" in registered["grant_types"], "registered", registered)
    page = requests(server, "/authorize")[0]
    check(page["code_challenge_method"] == "S256" and page["resource"] == server.url + "/mcp" and page["scope"] == "read", "the authorization request", page)
    exported = tenon("thread", "export", result.thread).out
    for secret in server.secrets:
        check(secret.startswith("code") or secret not in exported + result.err + result.out, "a secret in the journal: " + secret, exported)
    check(stored()[1]["token"]["access_token"] == server.last["token"] and "pending" not in stored()[1], "the stored token", stored())
    count = len(requests(server, "/token"))
    check(call("p.t").contents == ["fine"] and len(requests(server, "/token")) == count, "the next process uses the stored token", server.seen)
    change_stored_token(renew_at=1, expires_at=1)
    result = call("p.t", "p.t")
    check(result.contents == ["fine"] * 2, "the token is refreshed", result.contents, result.err)
    check([form["grant_type"] for form in requests(server, "/token")] == ["authorization_code", "refresh_token"], "one refresh", server.seen)
    check(stored()[1]["token"]["refresh_token"] == server.last["refresh"], "the new refresh token is stored", stored())
    server.quirk = "one use"
    server.uses = 3
    result = call("p.t")
    check(result.contents == ["fine"] and requests(server, "/token")[-1]["grant_type"] == "refresh_token", "a rejected token is refreshed", result.contents, result.err)
    server.quirk = "refresh token expired"
    change_stored_token(renew_at=1, expires_at=1)
    about = call("mcp.servers").json(0)["servers"][0]
    check(about["state"] == "unauthorized" and 'mcp.servers` and {connect: "p"}' in about["why"], "a new permission is required", about)
    check_no_secrets(result.err, server)


def test_two_calls_that_ask_for_one_permission():
    """Both questions are answered at once with the same address: the second answer finds the token."""
    server = start_person_server()
    both = [("mcp.servers", {"connect": "p"})] * 2
    call(*both, options=("--thread", "both"))
    questions = json.loads(tenon("thread", "show", "both", "--json").out)["interrupts"]
    check(len(questions) == 2, "two questions", questions)
    check("may keep loading until you answer here" in questions[0]["payload"]["question"], "the hint about the page", questions)
    address = last_redirect(questions[0]["payload"]["url"])
    answers = [part for question in questions for part in ("--answer", "%s=%s" % (question["id"], json.dumps(address)))]
    result = tenon("run", "call.yaml", "--thread", "both", "--resume", *answers)
    states = [result.json(i)["servers"][0]["state"] for i in range(2)]
    check(states == ["ready", "ready"] and len(requests(server, "/token")) == 1, "one code for both", result.contents, result.err)


def test_person_at_a_terminal():
    server = start_person_server()
    output = run_at_terminal([TENON, "tool", "call", "mcp.servers", '{"connect": "p"}'])
    check('"state": "ready"' in output or '"state":"ready"' in output, "permission was granted at a terminal", output, server.seen)
    check("Sanitizer" not in output, "a sanitizer reported an error", output)
    check_no_secrets(output, server)
    output = run_at_terminal([TENON, "tool", "call", "--yes", "p.w"])
    check("fine" in output and requests(server, "/authorize")[-1]["scope"] == "read write", "the call requests the missing scope", output, server.seen)
    check(call("p.w", "p.t").contents == ["fine"] * 2, "the new token is stored", server.seen)


def test_two_threads_that_ask():
    server = start_person_server()
    questions = {thread: first_question(thread, call(("mcp.servers", {"connect": "p"}), options=("--thread", thread))) for thread in ("one", "two")}
    address = last_redirect(questions["one"]["payload"]["url"])
    for thread, answer in (("one", address), ("two", True)):
        answers = "%s=%s" % (questions[thread]["id"], json.dumps(answer))
        result = tenon("run", "call.yaml", "--thread", thread, "--resume", "--answer", answers)
        check(result.json(0)["servers"][0]["state"] == "ready", "the permission applies to both threads: " + thread, result.out, result.err)
    check(len(requests(server, "/token")) == 1, "one token request", server.seen)


def test_tokens_bound_to_a_key():
    server = start_person_server("dpop")
    result = connect()
    check(result.json(0)["servers"][0]["state"] == "ready", "a bound token", result.contents, result.err, server.seen)
    check(stored()[1]["token"]["dpop"] is True and "PRIVATE KEY" in stored()[1]["key"], "the key is stored", stored())
    check("PRIVATE KEY" not in result.out + result.err + tenon("thread", "export", result.thread).out, "the output contains the key", result.err)
    check(requests(server, "/register")[0]["dpop_bound_access_tokens"] is True, "the registration", server.seen)
    check(call("p.t", "p.t").contents == ["fine"] * 2, "a proof for each request", server.seen)
    change_stored_token(renew_at=1, expires_at=1)
    check(call("p.t").contents == ["fine"] and requests(server, "/token")[-1]["grant_type"] == "refresh_token", "a proof for the refresh", server.seen)
    server = start_person_server("no dpop")
    about = call("mcp.servers").json(0)["servers"][0]
    check("`dpop_signing_alg_values_supported` does not contain it" in about["why"], "a server without the algorithm", about)


def test_no_terminal():
    start_person_server()
    result = tenon("tool", "call", "mcp.servers", '{"connect": "p"}')
    check(result.code == 5 and "`mcp.servers` waits for answers" in result.err and '"mode":"authorization"' in result.err, "the call waits", result.code, result.err)


def test_isolated():
    """No port is listening, and nothing is saved: the user enters the address."""
    server = start_person_server()
    configure({"p": {"url": server.url + "/mcp"}}, section={"keep_tokens": False})
    command = [TENON, "tool", "call", "--isolate", "tenon.mcp", "mcp.servers", '{"connect": "p"}']
    output = run_at_terminal(command, answers=lambda question: last_redirect(page_of(question)))
    check('"state": "ready"' in output, "an entered address", output, server.seen)
    check(requests(server, "/register")[0]["redirect_uris"] == ["http://127.0.0.1/callback"], "the redirect address has no port", server.seen)


def test_refused_permission():
    cases = [("denied", lambda address: address, "permission was not given (access_denied)"),
             ("wrong state", lambda address: address, "the returned `state` is not the one that was sent"),
             ("wrong iss", lambda address: address, "the returned `iss` is not http://127.0.0.1:"),
             ("no iss", lambda address: address, "the returned `iss` is not http://127.0.0.1:"),
             ("no exchange", lambda address: address, "issued no token (HTTP status 400, invalid_grant)"),
             ("", lambda address: address.split("?")[0], "found no `code` in the returned URL"),
             ("", lambda address: address + "&state=twice", "found no `code` in the returned URL"),
             ("", lambda address: None, "the permission was declined")]
    for quirk, change, expected in cases:
        server = start_person_server(quirk)
        result = connect(change)
        output = result.contents[0] if result.contents else result.out
        check(expected in output, quirk or expected, result.contents, result.err, server.seen)
        sent = requests(server, "/token")
        check(len(sent) == (quirk == "no exchange"), "the code is not used: " + quirk, server.seen)
        check("<b>" not in result.out + result.err, "texts of the page are not printed", result.out, result.err)
        check_no_secrets(result.out.replace(server.last.get("code", "-"), ""), server)


def test_no_redirect_arrives():
    server = start_person_server()
    output = run_at_terminal([TENON, "tool", "call", "mcp.servers", '{"connect": "p"}'], answers=lambda question: "")
    check(output.count("or [d]ecline: ") == 3, "the question is repeated three times", output)
    check("unauthorized" in output and not requests(server, "/token"), "the call fails after three questions", output, server.seen)


def test_stored_tokens():
    server = start_person_server()
    connect()
    path, record = stored()
    os.chmod(path, 0o644)
    result = call("mcp.servers")
    check("other users can read the file" in result.err and result.json(0)["servers"][0]["state"] == "unauthorized", "a readable file is not used", result.err, result.out)
    os.chmod(path, 0o600)
    with open(path, "w") as file:
        file.write("no json")
    result = call("mcp.servers")
    check("expected stored tokens" in result.err, "a file without JSON", result.err)
    os.unlink(path)
    os.symlink("/etc/passwd", path)
    result = call("mcp.servers")
    check(os.path.islink(path) and "symbolic link" in result.err and "remove it" in result.err, "a link is not followed", result.err)
    shutil.rmtree("tokens")
    configure({"p": {"url": server.url + "/mcp"}}, section={"keep_tokens": False})
    output = run_at_terminal([TENON, "tool", "call", "mcp.servers", '{"connect": "p"}'])
    check("ready" in output and not os.path.exists("tokens"), "tokens are kept in memory only", output)


def test_another_authorization_server():
    server, other = start_person_server(), Server()
    connect()
    first = server.last["client"]
    resource = server.resource()
    server.resource = lambda: {**resource, "authorization_servers": [other.url]}
    server.last["token"] = "another"
    about = call("mcp.servers").json(0)["servers"][0]
    check(about["state"] == "unauthorized" and other.url in about["why"], "the authorization server changed", about)
    check(len(requests(other, "/register")) == 1, "a new registration", other.seen)
    check(first not in json.dumps(other.seen) and "refresh_token" not in json.dumps(requests(other, "/token")), "no secret of the first server is sent", other.seen)
    shutil.rmtree("tokens")
    configure({"p": {"url": server.url + "/mcp", "oauth": {"client_id": "id"}}})
    call("mcp.servers")
    server.resource = lambda: resource
    about = call("mcp.servers").json(0)["servers"][0]
    check("was used with " + other.url in about["why"], "a configured client is not sent to another server", about)


def test_other_clients_of_the_redirect_address():
    """Other clients that connect to the redirect address do not disturb."""
    server = start_person_server()
    seen = {}

    def answers(question):
        back = page_of(question).split("redirect_uri=")[1].split("&")[0].replace("%3A", ":").replace("%2F", "/")
        host, port = back.split("/")[2].split(":")
        seen.update(back=back, host=host)
        for request in (b"\0\1\2", b"GET /callback?code=a&state=b HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /" + b"x" * 20000,
                      b"POST /callback?code=a HTTP/1.1\r\n\r\n", b"", b"G"):
            with socket.create_connection((host, int(port))) as client:
                client.sendall(request)
        return answer_question(question)

    output = run_at_terminal([TENON, "tool", "call", "mcp.servers", '{"connect": "p"}'], answers=answers)
    check("ready" in output, "other clients have no effect", output, seen, server.seen)
    check(seen["host"] == "127.0.0.1" and len(requests(server, "/token")) == 1, "one code", server.seen)
    check("Sanitizer" not in output, "a sanitizer reported an error", output)


if __name__ == "__main__":
    run_tests(globals())
