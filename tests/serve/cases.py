"""Requests as bytes, for differential.py: a corpus of what has fooled servers, and mutations of it."""

import random


def request(*lines, body=b"", start=b"POST /a HTTP/1.1", host=b"Host: a"):
    return b"\r\n".join([start, *([host] if host else []), *lines, b"", b""]) + body


def chunked(body, *lines):
    return request(b"Transfer-Encoding: chunked", *lines, body=body)


def corpus():
    yield from request_lines()
    yield from headers()
    yield from framing()
    yield from chunks()


def request_lines():
    for start in [b"GET / HTTP/1.1", b"GET / HTTP/1.0", b"GET /a?b=c&d HTTP/1.1", b"OPTIONS * HTTP/1.1", b"HEAD / HTTP/1.1",
                  b"DELETE /x HTTP/1.1", b"get / HTTP/1.1", b"GET  / HTTP/1.1", b"GET /  HTTP/1.1", b"GET / HTTP/1.1 ",
                  b" GET / HTTP/1.1", b"GET\t/\tHTTP/1.1", b"GET /", b"GET", b"", b"GET / HTTP/1.2", b"GET / HTTP/2.0",
                  b"GET / HTTP/0.9", b"GET / http/1.1", b"GET / HTTP/1,1", b"GET / HTTP/11", b"GET / HTTP/1.10",
                  b"GET / HTTP/01.1", b"GET / HTTPS/1.1", b"GET / HTTP/1.1x", b"G\0T / HTTP/1.1", b"GE(T / HTTP/1.1",
                  b"GET /\0 HTTP/1.1", b"GET /\x7f HTTP/1.1", b"GET /\x80 HTTP/1.1", b"GET /\xc3\xa4 HTTP/1.1",
                  b"GET /a b HTTP/1.1", b"GET a HTTP/1.1", b"GET /#a HTTP/1.1", b"GET http://a/b HTTP/1.1",
                  b"GET //a/b HTTP/1.1", b"CONNECT a:80 HTTP/1.1", b"TRACE / HTTP/1.1", b"FOO / HTTP/1.1",
                  b"GET /\t HTTP/1.1", b"GET / HTTP/1.1\r", b"GET / \rHTTP/1.1", b"\r\nGET / HTTP/1.1",
                  b"\nGET / HTTP/1.1", b"\r\n\r\nGET / HTTP/1.1", b"\rGET / HTTP/1.1", b"GET /?\xff HTTP/1.1",
                  b"PRI * HTTP/2.0", b"GET * HTTP/1.1", b"GET ? HTTP/1.1", b"GET /%00 HTTP/1.1", b"GET /%zz HTTP/1.1"]:
        yield request(start=start)
    yield b"GET / HTTP/1.1\nHost: a\n\n"
    yield b"GET / HTTP/1.1\r\nHost: a\n\r\n"
    yield b"GET / HTTP/1.1\nHost: a\r\n\r\n"
    yield b"GET / HTTP/1.1\r\nHost: a\r\n\n"
    yield b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n"
    yield b"GET / HTTP/1.1\rHost: a\r\r"
    yield b"GET / HTTP/1.1\r\nHost: a\n\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n"
    yield b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 3
    yield b"GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"
    yield b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
    yield b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def headers():
    for line in [b"A: b", b"A:b", b"A:", b"A: \t b \t", b"A : b", b"A\t: b", b" A: b", b"\tA: b", b": b", b"A", b"A b: c",
                 b"A\0: b", b"A: b\0", b"A: \0", b"A: b\x01", b"A: b\x7f", b"A: b\rc", b"A: b\nc: d", b"A: b\n c",
                 b"A: b\r\n c", b"A: b\r\n\tc", b"A: b\r\n  ", b"A: b\r", b"\r", b"\rA: b", b"A(b): c", b"A@: c", b"A\x80: b",
                 b"A: \x80", b"A: \xff", b"A: \xc3\xa4", b"A{}: b", b"A;: b", b"A=: b", b"A[]: b", b'A": b', b"A/: b",
                 b"A,: b", b"A: b\x0bc", b"A: b\x0c", b"A: b\x08", b"A::b", b"A: :", b"\x00A: b", b"A_b: c", b"A.b: c",
                 b"A: b\x1b", b"A\r: b", b"A\r\n: b", b"Host: a", b"host: b", b"HOST: a", b"Connection: close",
                 b"Connection: keep-alive, close", b"Expect: 100-continue", b"Upgrade: h2c", b"Trailer: x"]:
        yield request(line, start=b"GET / HTTP/1.1")
        yield request(b"X: y", line, b"Y: z", start=b"GET / HTTP/1.1")
    for host in [None, b"Host:", b"Host: ", b"Host: a b", b"Host: a, b", b"Host: a/b", b"Host: a@b", b"Host: a:80", b"Host: a:x",
                 b"Host: [::1]:80", b"Host: [::1", b"Host: a\\b", b"Host: \x80", b"Host: a:80:80", b"Host: a?b", b"Host : a",
                 b" Host: a", b"Host: a#b", b"Host: http://a", b"Host: a\tb"]:
        yield request(start=b"GET / HTTP/1.1", host=host)
        yield request(start=b"GET / HTTP/1.0", host=host)
    for end in [b":\n", b"\0\n", b":\r\n", b"\0\r\n", b"::", b":a\n", b"\0a\r\n"]:
        yield b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n" + end + b"hello"
        yield end + request(start=b"GET / HTTP/1.1")
    yield request(*[b"A%d: b" % number for number in range(90)], start=b"GET / HTTP/1.1")


def framing():
    for value in [b"5", b"05", b"0", b"+5", b"-5", b"5 ", b"\t5", b"5\t", b"5,5", b"5, 5", b"0x5", b"5a", b"", b" ", b"5.0", b"5e0",
                  b"5;", b'"5"', b"1 0", b"5\x0b", b"\x0c5", b"99999999999999999999", b"18446744073709551621",
                  b"4294967301", b"-0", b"5\0", b"5,", b",5", b"\xb2", b"5\r", b"_5", b"5_0"]:
        yield request(b"Content-Length: " + value, body=b"hello")
        yield request(b"Content-Length:" + value, body=b"hello")
    for lines in [[b"Content-Length: 5", b"Content-Length: 5"], [b"Content-Length: 5", b"Content-Length: 6"],
                  [b"Content-Length: 6", b"content-length: 5"], [b"Content-Length: 5", b"Content-Length:"],
                  [b"Content-Length : 5"], [b"Content-Length\t: 5"], [b" Content-Length: 5"], [b"Content_Length: 5"],
                  [b"Content-Length: 5", b" 5"], [b"Content-Length:", b" 5"], [b"Content-Length: 5\r\n\r"],
                  [b"Content-Length: 5", b"Transfer-Encoding: identity"], [b"Content-Length\0: 5"]]:
        yield request(*lines, body=b"hello")
    for value in [b"chunked", b"Chunked", b"CHUNKED", b"chunked ", b"\tchunked", b"chunked\t", b"identity", b"gzip", b"gzip, chunked",
                  b"chunked, gzip", b"chunked, chunked", b"chunked, identity", b"xchunked", b"chunkedx", b"chunked;a=b", b"",
                  b'"chunked"', b"chunked,", b", chunked", b"\x0bchunked", b"chunked\x0b", b"chunked\0", b"chunk", b"chu\tnked",
                  b"identity, chunked", b"chunked\r\n x", b"\x00chunked", b"cow"]:
        yield request(b"Transfer-Encoding: " + value, body=b"5\r\nhello\r\n0\r\n\r\n")
        yield request(b"Content-Length: 5", b"Transfer-Encoding: " + value, body=b"5\r\nhello\r\n0\r\n\r\n")
        yield request(b"Transfer-Encoding: " + value, b"Content-Length: 5", body=b"5\r\nhello\r\n0\r\n\r\n")
    for lines in [[b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"],
                  [b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"],
                  [b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked"], [b"Transfer-Encoding : chunked"],
                  [b"Transfer-Encoding\0: chunked"], [b" Transfer-Encoding: chunked"], [b"Transfer_Encoding: chunked"],
                  [b"Transfer-Encoding:", b" chunked"], [b"Transfer\r-Encoding: chunked"],
                  [b"X: y\nTransfer-Encoding: chunked"], [b"X: y\rTransfer-Encoding: chunked"]]:
        yield request(*lines, body=b"5\r\nhello\r\n0\r\n\r\n")
        yield request(*lines, b"Content-Length: 5", body=b"5\r\nhello\r\n0\r\n\r\n")
    yield request(b"Transfer-Encoding: chunked", start=b"POST /a HTTP/1.0", body=b"5\r\nhello\r\n0\r\n\r\n")
    yield request(b"Transfer-Encoding: chunked", start=b"GET /a HTTP/1.1", body=b"5\r\nhello\r\n0\r\n\r\n")
    yield request(b"Content-Length: 5", start=b"GET /a HTTP/1.1", body=b"hello")
    yield request(b"Content-Length: 5", body=b"hell")
    yield request(b"Content-Length: 5", body=b"hello" + request(start=b"GET /b HTTP/1.1"))
    yield request(b"Content-Length: 5", body=b"hello\r\n" + request(start=b"GET /b HTTP/1.1"))
    yield request(b"Content-Length: 5", body=b"helloGARBAGE")
    yield request(body=b"hello")


def chunks():
    after = request(start=b"GET /b HTTP/1.1")
    for body in [b"5\r\nhello\r\n0\r\n\r\n", b"05\r\nhello\r\n0\r\n\r\n", b"000000005\r\nhello\r\n0\r\n\r\n", b"A\r\n0123456789\r\n0\r\n\r\n",
                 b"a\r\n0123456789\r\n0\r\n\r\n", b"5\nhello\r\n0\r\n\r\n", b"5\r\nhello\n0\r\n\r\n", b"5\r\nhello\r\n0\n\r\n",
                 b"5\r\nhello\r\n0\r\n\n", b"5\nhello\n0\n\n", b"5 \r\nhello\r\n0\r\n\r\n", b" 5\r\nhello\r\n0\r\n\r\n",
                 b"5\t\r\nhello\r\n0\r\n\r\n", b"+5\r\nhello\r\n0\r\n\r\n", b"-5\r\nhello\r\n0\r\n\r\n", b"0x5\r\nhello\r\n0\r\n\r\n",
                 b"5h\r\nhello\r\n0\r\n\r\n", b"\r\nhello\r\n0\r\n\r\n", b"5\rhello\r\n0\r\n\r\n", b"5\r\nhello0\r\n\r\n",
                 b"5\r\nhelloX\r\n0\r\n\r\n", b"5\r\nhelloXX0\r\n\r\n", b"5\r\nhello\r0\r\n\r\n", b"5\r\nhello\r\n0\r\n",
                 b"5\r\nhello\r\n", b"5\r\nhel", b"ffffffffffffffff\r\nhello", b"10000000000000005\r\nhello\r\n0\r\n\r\n",
                 b"100000000\r\nhello", b"5;\r\nhello\r\n0\r\n\r\n", b"5;a\r\nhello\r\n0\r\n\r\n", b"5;a=b\r\nhello\r\n0\r\n\r\n",
                 b'5;a="b"\r\nhello\r\n0\r\n\r\n', b'5;a="b;c"\r\nhello\r\n0\r\n\r\n', b"5 ;a=b\r\nhello\r\n0\r\n\r\n",
                 b"5; a = b\r\nhello\r\n0\r\n\r\n", b"5;a=b;c=d\r\nhello\r\n0\r\n\r\n", b"5;a\0b\r\nhello\r\n0\r\n\r\n",
                 b"5;a\rb\r\nhello\r\n0\r\n\r\n", b"5;a\nhello\r\n0\r\n\r\n", b"5;\x80\r\nhello\r\n0\r\n\r\n", b"5;;\r\nhello\r\n0\r\n\r\n",
                 b"5;=b\r\nhello\r\n0\r\n\r\n", b"5;a\x01\r\nhello\r\n0\r\n\r\n", b'5;a="\r\nhello\r\n0\r\n\r\n',
                 b"5;" + b"a" * 5000 + b"\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\n0;a=b\r\n\r\n", b"5\r\nhello\r\n00\r\n\r\n",
                 b"5\r\nhello\r\n0\r\nA: b\r\n\r\n", b"5\r\nhello\r\n0\r\nA: b\n\r\n", b"5\r\nhello\r\n0\r\nA : b\r\n\r\n",
                 b"5\r\nhello\r\n0\r\nA\r\n\r\n", b"5\r\nhello\r\n0\r\n: b\r\n\r\n", b"5\r\nhello\r\n0\r\nA: b\0\r\n\r\n",
                 b"5\r\nhello\r\n0\r\nA: b\r\n c\r\n\r\n", b"5\r\nhello\r\n0\r\n A: b\r\n\r\n", b"5\r\nhello\r\n0\r\nA: b\r\n\n",
                 b"5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n", b"5\r\nhello\r\n0\r\nA: \x01\r\n\r\n", b"5\r\nhello\r\n0\r\nA(: b\r\n\r\n",
                 b"5\r\nhello\r\n0\r\n\rX", b"0\r\n\r\n", b"0\r\n", b"5\r\nhello\r\n0\r\nA: b\r\n\r", b"5\r\nhello\r\n0\r\nA: b\r\nB: c\n\r\n",
                 b"5\r\r\nhello\r\n0\r\n\r\n", b"5\n\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\n\r\n0\r\n\r\n", b"5\r\nhello\r\n 0\r\n\r\n"]:
        yield chunked(body)
        yield chunked(body + after)


# ---- Mutations ----

BYTES = [b"\r", b"\n", b"\r\n", b"\0", b" ", b"\t", b":", b";", b",", b"0", b"5", b"\x80", b"\xff", b"\x01", b"\x7f", b"-", b"(", b"\x0b", b"a", b"\r\n\r\n", b"\n\n"]
LINES = [b"Content-Length: 5", b"Content-Length: 0", b"Transfer-Encoding: chunked", b"Host: b", b" folded", b"A: b", b"Connection: close",
         b"Transfer-Encoding: identity", b"Content-Length: 6", b"A:", b"Expect: 100-continue"]


def mutate(random_, case):
    for _ in range(random_.choice([1, 1, 1, 2, 3])):
        kind, at = random_.randrange(7), random_.randrange(len(case) + 1)
        if kind == 0:
            case = case[:at] + random_.choice(BYTES) + case[at:]
        elif kind == 1:
            case = case[:at] + case[at + random_.choice([1, 1, 2, 5]):]
        elif kind == 2:
            case = case[:at] + random_.choice(BYTES) + case[at + 1:]
        elif kind == 3:
            ends = [i for i in range(len(case) - 1) if case[i:i + 2] == b"\r\n"] or [0]
            end = random_.choice(ends)
            case = case[:end] + random_.choice([b"\n", b"\r", b"\r\r\n", b"\n\r", b" \r\n", b"\0\r\n", b""]) + case[end + 2:]
        else:
            lines = case.split(b"\r\n")
            place = random_.randrange(len(lines))
            if kind == 4:
                lines.insert(place, random_.choice(LINES))
            elif kind == 5:
                lines.insert(place, lines[random_.randrange(len(lines))])
            else:
                other = random_.randrange(len(lines))
                lines[place], lines[other] = lines[other], lines[place]
            case = b"\r\n".join(lines)
    return case


def mutations(count, seed):
    random_ = random.Random(seed)
    bases = [request(b"Content-Length: 5", b"A: b", body=b"hello"), chunked(b"5\r\nhello\r\n0\r\n\r\n", b"A: b"),
             chunked(b"3\r\nabc\r\n2;a=b\r\nde\r\n0\r\nT: u\r\n\r\n"), request(b"A: b", b"C: d", start=b"GET /a?b=c HTTP/1.1"),
             request(b"Content-Length: 5", body=b"hello" + request(start=b"GET /b HTTP/1.1"))]
    for _ in range(count):
        case = mutate(random_, random_.choice(bases))
        if case:
            yield case
