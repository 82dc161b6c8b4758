"""authorization.py: the plugin tenon.mcp and servers that want to know who asks: machines, people, and what can go wrong."""
import glob
import json
import os
import shutil
import socket
import stat
import subprocess
import time

from guarded import Server
from harness import TENON, asked_in, call, check, configure, run_tests, tenon
from person import answers_to, led_to, sit

os.environ["CLIENT_SECRET"] = "s3cret/of the+client"
SECRET = {"secrets": {"CLIENT_SECRET": {"env": "CLIENT_SECRET"}}}
ALONE = {"grant": "client_credentials", "client_id": "id", "client_secret": {"secret": "CLIENT_SECRET"}}


def requests(server, path):
    return [said for _, at, said in server.seen if at == path]


def shows_nothing(text, *servers):
    for server in servers:
        for secret in server.secrets + ["s3cret/of", "s3cret%2Fof"]:
            check(secret not in text, "a secret was shown: " + secret, text)


# ---- Who gives tokens ----

LIES = {
    "other issuer": "of the issuer `https://honest.example`, expected `http://127.0.0.1:",
    "slash": "letter by letter",
    "other resource": "of the resource `https://evil.example/mcp`, expected http://127.0.0.1:",
    "beside": "/mc`, expected http://127.0.0.1:",
    "nobody": "names no authorization server",
    "far": "the authorization server `http://example.com`, expected `authorization_servers` with an https address",
    "no pkce": "`code_challenge_methods_supported` is missing, expected S256",
    "plain": "does not have S256",
    "no token endpoint": "has no `token_endpoint`",
    "leak": "`token_endpoint` is `http://example.com/token`, expected an https address",
    "script": "`authorization_endpoint` is `javascript:alert(1)`, expected an https address",
    "huge": "more than the 262144 bytes",
    "html": "no JSON object",
    "broken": "HTTP status 503",
    "loop": "redirect",
    "no server": "has no metadata, looked for as RFC 8414 and OpenID Connect have it",
    "no metadata": "it wants to know who asks (HTTP status 401), and says nowhere who could tell it",
    "lost pointer": "its challenge says that its metadata is at http://127.0.0.1:",
    "no clients": "registers no clients; register one there, and say its `client_id`",
    "no registration": "does not register this client (invalid_redirect_uri, HTTP status 400)",
    "no id": "registered this client without a `client_id`",
    "two": "has no metadata",
}


def test_what_servers_say_of_themselves():
    servers = {quirk: Server(quirk) for quirk in LIES}
    configure({quirk.replace(" ", "-"): {"url": server.url + "/mcp"} for quirk, server in servers.items()})
    got = call("mcp.servers")
    about = {server["name"]: server for server in got.json(0)["servers"]}
    for quirk, server in servers.items():
        told = about[quirk.replace(" ", "-")]
        check(told["state"] == "failed" and LIES[quirk] in told["why"], quirk, told.get("why"), server.seen)
        check(not requests(server, "/token") and not requests(server, "/authorize"), "nobody is asked: " + quirk, server.seen)
    check(len([1 for _, path, _ in servers["loop"].seen if "protected" in path]) == 4, "3 redirects are followed", servers["loop"].seen)


def test_other_ways_to_be_found():
    pinned, elsewhere, off, clear = Server("two"), Server(), Server(), Server()
    servers = {"pinned": {"url": pinned.url + "/mcp", "oauth": {**ALONE, "issuer": pinned.url}},
               "elsewhere": {"url": elsewhere.url + "/mcp", "oauth": {**ALONE, "issuer": "https://other.example"}},
               "off": {"url": off.url + "/mcp", "oauth": False},
               "clear": {"url": "http://0.0.0.0:%d/mcp" % clear.server_port}}
    pinned.client_secret = elsewhere.client_secret = os.environ["CLIENT_SECRET"]
    configure(servers, **SECRET)
    got = call("pinned.t", "mcp.servers")
    about = {server["name"]: server for server in got.json(1)["servers"]}
    check(got.contents[0] == "fine", "the issuer that is configured, of two", got.contents, got.err)
    check("its `issuer` in tenon.yaml is https://other.example" in about["elsewhere"]["why"], "no other", about)
    check(not requests(elsewhere, "/token"), "the secret goes nowhere", elsewhere.seen)
    check("its `url` is not https" in about["clear"]["why"] and len(clear.seen) == 1, "in the clear", about, clear.seen)
    check("401" in about["off"]["why"] and len(off.seen) <= 2, "false: nothing is looked for", about, off.seen)


# ---- A machine ----

def machines(**quirks):
    shutil.rmtree("tokens", ignore_errors=True)
    made = {name: Server(quirk, client_secret=os.environ["CLIENT_SECRET"], **more) for name, (quirk, more) in quirks.items()}
    configure({name: {"url": server.url + "/mcp", "oauth": ALONE} for name, server in made.items()}, **SECRET)
    return made


def test_machines():
    servers = machines(basic=("", {}), post=("", {"methods": ["client_secret_post"]}), once=("one use", {}), short=("", {"expires_in": 1}),
                       bare=("no pointer", {}))
    got = call("basic.t", "basic.w", "post.t", "once.t", "once.t", "short.t", "bare.t", options=("--record", "recorded", "--thread", "m"))
    check(got.contents == ["fine"] * 7, "every way", got.contents, got.err)
    asked = requests(servers["basic"], "/token")
    check([form.get("scope") for form in asked] == ["read", "read write"], "what was granted stays, what is wanted comes to it", asked)
    check(all(form["resource"] == servers["basic"].url + "/mcp" for form in asked), "the resource is said", asked)
    check(len(requests(servers["once"], "/token")) >= 2, "a token that has ended is got anew", servers["once"].seen)
    kept = "".join(open(path, errors="replace").read() for path in glob.glob("recorded/*"))
    check("mcp-access-token" in kept, "recorded", kept[:2000])
    shows_nothing(got.out + got.err + kept + tenon("thread", "export", "m").out, *servers.values())
    count = len(servers["basic"].seen)
    again = call("basic.t", "basic.w", options=("--replay", "recorded"))
    check(again.contents == ["fine"] * 2 and len(servers["basic"].seen) == count, "replayed", again.contents, again.err)
    check(not glob.glob("tokens/*"), "nothing of machines is kept", glob.glob("tokens/*"))


SAYS = ("status 500", "error", "error in a stream", "result", "status 401", "status 302", "status 403")


def test_servers_that_say_the_token_back():
    """In an answer, an error, a header: it is in nothing that is shown or kept."""
    for says in SAYS:
        servers = machines(p=("says: " + says, {}))
        shutil.rmtree("said", ignore_errors=True)
        thread = "s" + says.replace(" ", "-")
        got = call("p.t", options=("--record", "said", "--thread", thread))
        kept = "".join(open(path, errors="replace").read() for path in glob.glob("said/*"))
        check("redacted" in kept and "p.t" in got.out + got.err, "it was called", says, got.out, got.err, kept)
        check(any(at == "/mcp" and said == "tools/call" for _, at, said in servers["p"].seen), "and asked", servers["p"].seen)
        shows_nothing(got.out + got.err + kept + tenon("thread", "export", thread).out, *servers.values())


def test_machines_that_are_refused():
    quirks = {"token": ("no token", {}), "split": ("split token", {}), "type": ("other type", {}), "never": ("never", {}),
              "more": ("always more", {}), "stranger": ("", {}), "nonces": ("more nonces", {}), "which": ("no scope", {})}
    servers = machines(**quirks)
    servers["stranger"].client_secret = "another"
    got = call("more.w", "mcp.servers", "which.t")
    about = {server["name"]: server.get("why", "") for server in got.json(1)["servers"]}
    check("without an `access_token`" in about["token"] and "without an `access_token`" in about["split"], "no token", about)
    check("of another type than was asked for" in about["type"], "another type", about)
    check("and does not say which" in got.contents[2] and len(requests(servers["which"], "/token")) == 1, "no scope is said", got.contents)
    check("one token after the other" in about["nonces"], "enough of it", about)
    check(servers["nonces"].seen.count(("POST", "/mcp", "server/discover")) == 4, "three times more", servers["nonces"].seen)
    check("does not take the token that" in about["never"], "a token that is never taken", about)
    check(len(requests(servers["never"], "/token")) == 1, "it is not asked for again", servers["never"].seen)
    check("invalid_client" in about["stranger"] and "`client_secret`" in about["stranger"], "another secret", about)
    check("it wants the scope `a b`" in got.contents[0], "enough of it", got.contents)
    check(len(requests(servers["more"], "/token")) == 2, "one more token, and no third", servers["more"].seen)
    shows_nothing(got.out + got.err, *servers.values())


def test_keys_and_assertions():
    servers, configured, secrets = {}, {}, {"CLIENT_SECRET": {"env": "CLIENT_SECRET"}, "ASSERTION": {"env": "ASSERTION"}}
    os.environ["ASSERTION"] = "somebody.else.signed"
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
    os.environ["ID_TOKEN"] = "who.it.is"
    known = {"token_url": idp.url + "/token", "client_id": "id", "client_secret": {"secret": "CLIENT_SECRET"}, "id_token": {"secret": "ID_TOKEN"}}
    servers["enterprise"] = Server(client_secret=os.environ["CLIENT_SECRET"])
    configured["enterprise"] = {"url": servers["enterprise"].url + "/mcp", "oauth": {**ALONE, "grant": "enterprise", "idp": known}}
    servers["bearer"] = Server(client_secret=os.environ["CLIENT_SECRET"])
    configured["bearer"] = {"url": servers["bearer"].url + "/mcp",
                            "oauth": {**ALONE, "grant": "jwt_bearer", "assertion": {"secret": "ASSERTION"}}}
    configure(configured, secrets=secrets)
    good = [name for name in servers if name != "weak"]
    got = call("mcp.servers", *[name + ".t" for name in good])
    check(got.contents[1:] == ["fine"] * len(good), "signed", got.contents, got.err)
    about = {server["name"]: server.get("why", "") for server in got.json(0)["servers"]}
    check("weak" not in servers or "`private_key` cannot sign" in about["weak"], "too short a key", about)
    exchanged = requests(idp, "/token")[0]
    check(exchanged["audience"] == servers["enterprise"].url and exchanged["resource"] == servers["enterprise"].url + "/mcp", "for whom", exchanged)
    check("who.it.is" not in json.dumps(servers["enterprise"].seen) + got.out + got.err, "who it is, is the provider's alone", got.err)
    check("PRIVATE KEY" not in got.out + got.err and "somebody.else" not in got.out + got.err, "a key was shown", got.out, got.err)


# ---- A person ----

def person(quirk="", **more):
    shutil.rmtree("tokens", ignore_errors=True)
    server = Server(quirk, **more)
    configure({"p": {"url": server.url + "/mcp"}})
    return server


def connect(change=lambda address: address):
    """Asked in one process, answered in another, with the address that the page led to."""
    thread = "c%d" % time.monotonic_ns()
    question = asked_in(thread, call(("mcp.servers", {"connect": "p"}), options=("--thread", thread)))
    answer = "%s=%s" % (question["id"], json.dumps(change(led_to(question["payload"]["url"]))))
    got = tenon("run", "call.yaml", "--thread", thread, "--resume", "--answer", answer)
    got.payload, got.thread = question["payload"], thread
    return got


def kept():
    (path,) = glob.glob("tokens/*")
    check(stat.S_IMODE(os.stat(path).st_mode) == 0o600 and stat.S_IMODE(os.stat("tokens").st_mode) == 0o700, "modes", path)
    with open(path) as file:
        return path, json.load(file)


def change_kept(**members):
    path, record = kept()
    record["token"].update(members)
    with open(path, "w") as file:
        json.dump(record, file)


def test_a_person_with_an_address():
    server = person()
    got = connect()
    check(got.json(0)["servers"][0]["state"] == "ready", "it is permitted", got.contents, got.err)
    check(got.payload["mode"] == "authorization" and got.payload["server"] == "p", "what is asked", got.payload)
    registered = requests(server, "/register")[0]
    check(registered["application_type"] == "native" and "refresh_token" in registered["grant_types"], "registered", registered)
    page = requests(server, "/authorize")[0]
    check(page["code_challenge_method"] == "S256" and page["resource"] == server.url + "/mcp" and page["scope"] == "read", "the page", page)
    exported = tenon("thread", "export", got.thread).out
    for secret in server.secrets:
        check(secret.startswith("code") or secret not in exported + got.err + got.out, "a secret in the journal: " + secret, exported)
    check(kept()[1]["token"]["access_token"] == server.last["token"] and "pending" not in kept()[1], "kept", kept())
    count = len(requests(server, "/token"))
    check(call("p.t").contents == ["fine"] and len(requests(server, "/token")) == count, "the next process has it", server.seen)
    change_kept(renew_at=1, expires_at=1)
    got = call("p.t", "p.t")
    check(got.contents == ["fine"] * 2, "it is made new", got.contents, got.err)
    check([form["grant_type"] for form in requests(server, "/token")] == ["authorization_code", "refresh_token"], "once", server.seen)
    check(kept()[1]["token"]["refresh_token"] == server.last["refresh"], "the new one is kept", kept())
    server.quirk = "one use"
    server.uses = 3
    got = call("p.t")
    check(got.contents == ["fine"] and requests(server, "/token")[-1]["grant_type"] == "refresh_token", "401, and made new", got.contents, got.err)
    server.quirk = "ended"
    change_kept(renew_at=1, expires_at=1)
    about = call("mcp.servers").json(0)["servers"][0]
    check(about["state"] == "unauthorized" and 'mcp.servers` and {connect: "p"}' in about["why"], "asked again", about)
    shows_nothing(got.err, server)


def test_two_calls_that_ask_for_the_same():
    """Both are answered at once, with the same address: what the second one brings is there already."""
    server = person()
    both = [("mcp.servers", {"connect": "p"})] * 2
    call(*both, options=("--thread", "both"))
    questions = json.loads(tenon("thread", "show", "both", "--json").out)["interrupts"]
    check(len(questions) == 2, "two questions", questions)
    check("until the answer is given here" in questions[0]["payload"]["question"], "what the page may do", questions)
    address = led_to(questions[0]["payload"]["url"])
    answers = [part for question in questions for part in ("--answer", "%s=%s" % (question["id"], json.dumps(address)))]
    got = tenon("run", "call.yaml", "--thread", "both", "--resume", *answers)
    states = [got.json(i)["servers"][0]["state"] for i in range(2)]
    check(states == ["ready", "ready"] and len(requests(server, "/token")) == 1, "one code for both", got.contents, got.err)


def test_a_person_at_a_terminal():
    server = person()
    said = sit([TENON, "tool", "call", "mcp.servers", '{"connect": "p"}'])
    check('"state": "ready"' in said or '"state":"ready"' in said, "permitted at a terminal", said, server.seen)
    check("Sanitizer" not in said, "a sanitizer found something", said)
    shows_nothing(said, server)
    said = sit([TENON, "tool", "call", "--yes", "p.w"])
    check("fine" in said and requests(server, "/authorize")[-1]["scope"] == "read write", "more is asked for by the call", said, server.seen)
    check(call("p.w", "p.t").contents == ["fine"] * 2, "and kept", server.seen)


def test_two_who_ask():
    server = person()
    questions = {thread: asked_in(thread, call(("mcp.servers", {"connect": "p"}), options=("--thread", thread))) for thread in ("one", "two")}
    address = led_to(questions["one"]["payload"]["url"])
    for thread, answer in (("one", address), ("two", True)):
        answers = "%s=%s" % (questions[thread]["id"], json.dumps(answer))
        got = tenon("run", "call.yaml", "--thread", thread, "--resume", "--answer", answers)
        check(got.json(0)["servers"][0]["state"] == "ready", "the permission is that of both: " + thread, got.out, got.err)
    check(len(requests(server, "/token")) == 1, "it was given once", server.seen)


def test_tokens_bound_to_a_key():
    server = person("dpop")
    got = connect()
    check(got.json(0)["servers"][0]["state"] == "ready", "bound", got.contents, got.err, server.seen)
    check(kept()[1]["token"]["dpop"] is True and "PRIVATE KEY" in kept()[1]["key"], "the key is kept", kept())
    check("PRIVATE KEY" not in got.out + got.err + tenon("thread", "export", got.thread).out, "and not shown", got.err)
    check(requests(server, "/register")[0]["dpop_bound_access_tokens"] is True, "registered so", server.seen)
    check(call("p.t", "p.t").contents == ["fine"] * 2, "a proof for each", server.seen)
    change_kept(renew_at=1, expires_at=1)
    check(call("p.t").contents == ["fine"] and requests(server, "/token")[-1]["grant_type"] == "refresh_token", "and for a new one", server.seen)
    server = person("no dpop")
    about = call("mcp.servers").json(0)["servers"][0]
    check("`dpop_signing_alg_values_supported` does not have that" in about["why"], "it cannot be", about)


def test_nobody_is_there():
    person()
    got = tenon("tool", "call", "mcp.servers", '{"connect": "p"}')
    check(got.code == 5 and "`mcp.servers` waits for answers" in got.err and '"mode":"authorization"' in got.err, "no terminal", got.code, got.err)


def test_in_a_process_of_its_own():
    """Nobody listens there, and nothing is kept: the address is brought by hand."""
    server = person()
    configure({"p": {"url": server.url + "/mcp"}}, section={"keep_tokens": False})
    command = [TENON, "tool", "call", "--isolate", "tenon.mcp", "mcp.servers", '{"connect": "p"}']
    said = sit(command, answers=lambda question: json.dumps(led_to(json.loads(question)["url"])))
    check('"state": "ready"' in said, "brought by hand", said, server.seen)
    check(requests(server, "/register")[0]["redirect_uris"] == ["http://127.0.0.1/callback"], "no port is listened to", server.seen)


def test_people_who_say_no():
    cases = [("denied", lambda address: address, "permission was not given (access_denied)"),
             ("wrong state", lambda address: address, "the `state` of what came back is not the one that was sent"),
             ("wrong iss", lambda address: address, "is not from http://127.0.0.1:"),
             ("no iss", lambda address: address, "is not from http://127.0.0.1:"),
             ("no exchange", lambda address: address, "gives no token (HTTP status 400, invalid_grant)"),
             ("", lambda address: address.split("?")[0], "found no `code` in what came back"),
             ("", lambda address: address + "&state=twice", "found no `code` in what came back"),
             ("", lambda address: None, "the permission was declined")]
    for quirk, change, expected in cases:
        server = person(quirk)
        got = connect(change)
        told = got.contents[0] if got.contents else got.out
        check(expected in told, quirk or expected, got.contents, got.err, server.seen)
        asked = requests(server, "/token")
        check(len(asked) == (quirk == "no exchange"), "no code is sent on: " + quirk, server.seen)
        check("<b>" not in got.out + got.err, "words of the page are not shown", got.out, got.err)
        shows_nothing(got.out.replace(server.last.get("code", "-"), ""), server)


def test_nobody_comes_back():
    server = person()
    said = sit([TENON, "tool", "call", "mcp.servers", '{"connect": "p"}'], answers=lambda question: "true")
    check(said.count("answer: ") == 3, "a person is asked three times", said)
    check("unauthorized" in said and not requests(server, "/token"), "and then no more", said, server.seen)


def test_what_is_kept():
    server = person()
    connect()
    path, record = kept()
    os.chmod(path, 0o644)
    got = call("mcp.servers")
    check("others may read it" in got.err and got.json(0)["servers"][0]["state"] == "unauthorized", "not used", got.err, got.out)
    os.chmod(path, 0o600)
    with open(path, "w") as file:
        file.write("no json")
    got = call("mcp.servers")
    check("expected tokens that were kept" in got.err, "no JSON", got.err)
    os.unlink(path)
    os.symlink("/etc/passwd", path)
    got = call("mcp.servers")
    check(os.path.islink(path) and "symbolic link" in got.err and "remove it" in got.err, "a link is not followed", got.err)
    shutil.rmtree("tokens")
    configure({"p": {"url": server.url + "/mcp"}}, section={"keep_tokens": False})
    said = sit([TENON, "tool", "call", "mcp.servers", '{"connect": "p"}'])
    check("ready" in said and not os.path.exists("tokens"), "kept in memory alone", said)


def test_another_authorization_server():
    server, other = person(), Server()
    connect()
    first = server.last["client"]
    moved = server.resource()
    server.resource = lambda: {**moved, "authorization_servers": [other.url]}
    server.last["token"] = "another"
    about = call("mcp.servers").json(0)["servers"][0]
    check(about["state"] == "unauthorized" and other.url in about["why"], "it has moved", about)
    check(len(requests(other, "/register")) == 1, "registered anew", other.seen)
    check(first not in json.dumps(other.seen) and "refresh_token" not in json.dumps(requests(other, "/token")), "nothing of the first is sent", other.seen)
    shutil.rmtree("tokens")
    configure({"p": {"url": server.url + "/mcp", "oauth": {"client_id": "id"}}})
    call("mcp.servers")
    server.resource = lambda: moved
    about = call("mcp.servers").json(0)["servers"][0]
    check("was used with " + other.url in about["why"], "what is configured goes to no other", about)


def test_knocking_at_the_door():
    """The address that the browser comes back to, and whoever else knocks there."""
    server = person()
    seen = {}

    def answers(question):
        back = json.loads(question)["url"].split("redirect_uri=")[1].split("&")[0].replace("%3A", ":").replace("%2F", "/")
        host, port = back.split("/")[2].split(":")
        seen.update(back=back, host=host)
        for knock in (b"\0\1\2", b"GET /callback?code=a&state=b HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /" + b"x" * 20000,
                      b"POST /callback?code=a HTTP/1.1\r\n\r\n", b"", b"G"):
            with socket.create_connection((host, int(port))) as door:
                door.sendall(knock)
        return answers_to(question)

    said = sit([TENON, "tool", "call", "mcp.servers", '{"connect": "p"}'], answers=answers)
    check("ready" in said, "whoever else knocks changes nothing", said, seen, server.seen)
    check(seen["host"] == "127.0.0.1" and len(requests(server, "/token")) == 1, "one code", server.seen)
    check("Sanitizer" not in said, "a sanitizer found something", said)


if __name__ == "__main__":
    run_tests(globals())
