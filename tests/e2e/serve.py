#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""serve.py CASE: mtrace-serve returns what mtrace-query prints, refuses foreign requests, and survives bad clients.

answers     every command, as JSON and CSV, with and without filters, byte for byte
bad_input   wrong requests get their status and a message, and the server continues
openapi     the document is valid by the specification's own schema, and every path of it answers
paging      pages of allocations by key are the whole, in every order
warnings    warnings beside an answer
completion  suggested filter values are those of the recording
source      a source file with what its lines allocate, and no other file
several     several recordings in one server, their diff, and caching
live        a running program: pages are notified of new data, and of the end
strangers   hosts, origins and tokens
limits      queries end with their client or at their time limit; many clients together
greedy      a client that requests much, or reads nothing, does not block reports of others
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402
from harness import expect  # noqa: E402

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
HEAVY = ENDLESS.replace("count(*)", "sum(length(replace(hex(zeroblob(60000 + x % 2)), '0', '1')))")


class Server:
    """mtrace-serve on a free port, ended at the end of the block."""

    def __init__(self, arguments, cwd):
        program = os.environ["MTRACE_TEST_SERVE"]
        self.folder = Path(cwd)
        self.process = subprocess.Popen([program, *map(str, arguments)], cwd=cwd, env=harness.environment(),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        match = re.fullmatch(r"http://([\d.]+):(\d+)/(?:\?token=(.+))?", self.address)
        if not match:
            raise harness.Failure(f"no address: {self.address!r} {self.process.stderr.read()}")
        self.host, self.port, self.token = match.group(1), int(match.group(2)), match.group(3)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        _, stderr = self.process.communicate(timeout=400)
        if self.process.returncode != 0:
            raise harness.Failure(f"mtrace-serve ended with {self.process.returncode}: {stderr}")

    def ask(self, path, method="GET", body=None, headers=None, timeout=400):
        """Status, headers and body."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        answer = response.status, response.headers, response.read()
        connection.close()
        return answer

    def rows(self, path, /, **parameters):
        status, _, body = self.ask(path + ("?" + urllib.parse.urlencode(parameters, doseq=True) if parameters else ""))
        if status != 200:
            raise harness.Failure(f"{path} {parameters}: {status} {body.decode()}")
        return body


def error_of(answer):
    status, headers, body = answer
    expect("the type of an error", headers["Content-Type"], "application/json")
    return status, json.loads(body)["error"]["message"]


# ---- cases ----

ARGUMENTS = {"stack": "1", "callers": "main", "callees": "main", "describe": "leaks", "block": "0x1000", "lines": "none.c"}
FILTERED = {"threads": {"size_min": "100"}, "flows": {"size_min": "100"}, "phases": {"size_min": "100"}, "by-group": {"size_min": "100"}, "by-tag": {"size_min": "100"},
            "leaks": {}, "groups": {"size_min": "100"}, "hot": {"from": "10%", "to": "90%"}, "tree": {"measure": "allocated", "bottom_up": "yes"},
            "allocations": {"size_min": "64", "count": "1000", "sort_by": "size"}, "live": {"alive_at": "50%"}}


def query(tools, cwd, command, database, options, form):
    argument = [options["argument"]] if "argument" in options else []
    flags = [f"--{name.replace('_', '-')}" + ("" if value == "yes" else f"={value}")
             for name, value in options.items() if name != "argument"]
    return harness.run([tools.query, command, database, *argument, f"--{form}", *flags], cwd)


def answers(tools, folder, database):
    with Server([database], folder) as server:
        meta = json.loads(server.rows("/api/v1"))
        recording = meta["recordings"][0]["id"]
        expect("recordings", [r["name"] for r in meta["recordings"]], [database.name])
        names = [c["name"] for c in meta["commands"] if c["name"] not in ("flamegraph", "heap-map", "export", "diff", "sql")]
        n_compared = 0
        for name in names:
            for options in [{"argument": ARGUMENTS[name]} if name in ARGUMENTS else {}, FILTERED.get(name)]:
                for form in ("json", "csv"):
                    if options is None:
                        continue
                    output = query(tools, folder, name, database, options, form)
                    status, _, body = server.ask(f"/api/v1/{recording}/{name}?" + urllib.parse.urlencode({**options, "format": form}))
                    if output.status != 0:
                        expect(f"{name} {options}: status", (status >= 400), True)
                        # Parameters of the server are options of the command line.
                        message = re.sub(r" ([a-z_]+)=([A-Z_]+)\b", lambda named: f" --{named[1].replace('_', '-')} {named[2]}", json.loads(body)["error"]["message"])
                        expect(f"{name} {options}: error", message in output.stderr.decode(), True)
                        continue
                    expect(f"{name} {options} {form}: status {body[:200]}", status, 200)
                    expect(f"{name} {options} {form}", body, output.stdout)
                    n_compared += 1
        expect("at least as many answers were compared as there are commands", n_compared >= len(names), True)
        expect("the last recording", server.rows("/api/v1/last/summary"), server.rows(f"/api/v1/{recording}/summary"))
        counted = harness.Database(database).rows("SELECT count(*) FROM allocations")[0][0]
        status, _, body = server.ask("/api/v1/last/sql", "POST", "SELECT count(*) AS n FROM allocations")
        expect("rows counted by a statement", (status, json.loads(body)), (200, [{"n": counted}]))
        status, _, body = server.ask("/api/v1/last/sql", "POST", "SELECT 9e999 AS a, -9e999 AS b, 1.5 AS c, x'00ff' AS d")
        no_word = lambda word: expect("a number that JSON has no word for", word, None)
        expect("numbers of any size", json.loads(body, parse_constant=no_word), [{"a": float("inf"), "b": -float("inf"), "c": 1.5, "d": "00FF"}])
        everything = json.loads(server.rows("/api/v1/last/allocations", count="0"))
        expect("rows of the whole table", len(everything), counted)


WRONG = [
    ("/api/v1/last/leaks?size_mix=2", 400, "size_mix"),
    ("/api/v1/last/leaks?size_min=huge", 400, "huge"),
    ("/api/v1/last/leaks?count=-1", 400, "count"),
    ("/api/v1/last/leaks?sort_by=nothing", 400, "nothing"),
    ("/api/v1/last/leaks?fail_if=1", 400, "command line"),
    ("/api/v1/last/leaks?output=/tmp/x", 400, "command line"),
    ("/api/v1/last/leaks?suppressions=/etc/passwd", 400, "command line"),
    ("/api/v1/last/nothing", 404, "nothing"),
    ("/api/v1/0123/leaks", 404, "0123"),
    ("/api/v1/last/stack?argument=99999999", 404, "99999999"),
    ("/api/v1/last", 404, "/api/v1/RECORDING/COMMAND"),
    ("/api/v2/last/leaks", 404, "/api/v1"),
    ("/etc/passwd", 404, "/etc/passwd"),
    ("/api/v1/last/leaks?function_regex=main%00zzz", 400, "%00"),
    ("/api/v1/last/leaks?size_min%00zzz=1", 400, "%00"),
    ("/api/v1/last/leaks%00zzz", 400, "%00"),
    ("http://evil.example/api/v1", 400, "begin with /"),
    ("/%2e%2e/%2e%2e/etc/passwd", 404, "etc"),
    ("/api/v1/last/leaks?" + "&".join(f"a{i}=1" for i in range(200)), 400, "128"),
    ("/api/v1/last/leaks?" + "&".join(f"a{i}=1" for i in range(20000)), 400, "128"),
]
END = b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
READ_IN_TWO_WAYS = [
    (b"GET /api/v1/last/summary?count=1\0b" + END + b"\r\n", b"NUL"), (b"GET /api\0/v1" + END + b"\r\n", b"NUL"), (b"GET /api/v1\0\0x " + END + b"\r\n", b"NUL"),
    (b"POST /api/v1/last/sql" + END + b"Content-Length: 12\r\n\r\nSELECT 1\0  8", b"NUL"),
    (b"POST /api/v1/last/sql" + END + b"Content-Length: 8\r\nContent-Length: 9\r\n\r\nSELECT 12", b"two Content-Lengths"),
    (b"POST /api/v1/last/sql" + END + b"Content-Length: 8\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nSELECT 1\r\n0\r\n\r\n", b"Transfer-Encoding")]
RAW = [b"GET\r\n\r\n", b"\x00" * 1000, b"GET / HTTP/9.9\r\n\r\n", b"POST /api/v1/last/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\nSEL",
       b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n"]


def bad_input(tools, folder, database):
    with Server([database], folder) as server:
        for path, wanted, part in WRONG:
            status, message = error_of(server.ask(path))
            expect(path, (status, part in message), (wanted, True))
        for body, part in (("DELETE FROM meta", ""), ("SELECT 1; SELECT 2", "one SELECT"), ("SELECT * FROM nowhere", "nowhere"),
                           ("ATTACH 'x.db' AS x", ""), ("PRAGMA writable_schema = 1", ""), ("", "")):
            status, message = error_of(server.ask("/api/v1/last/sql", "POST", body))
            expect(f"{body}: {message}", (status >= 400, part in message), (True, True))
        for method, path, allow, wanted in (("GET", "/api/v1/last/sql", "POST", 405), ("POST", "/api/v1", "GET, HEAD", 405), ("PUT", "/api/v1", "GET, HEAD, POST", 405),
                                            ("DELETE", "/", "GET, HEAD, POST", 405), ("POST", "/list", "GET, HEAD", 405), ("POST", "/", "GET, HEAD", 405), ("GRASP", "/api/v1", "GET, HEAD, POST", 501)):
            answer = server.ask(path, method)
            expect(f"{method} {path}", (error_of(answer)[0], answer[1]["Allow"]), (wanted, allow))
        expect("HEAD", server.ask("/api/v1/last/summary", "HEAD")[::2], (200, b""))
        expect("POST of leaks", error_of(server.ask("/api/v1/last/leaks", "POST", "x"))[0], 405)
        expect("a large body", error_of(server.ask("/api/v1/last/sql", "POST", b"x" * (2 << 20)))[0], 413)
        for raw, output in READ_IN_TWO_WAYS:
            reply = raw_answer(server, raw)
            expect(f"{raw}: {reply}", (reply.split(b" ")[1], output in reply), (b"400", True))
        for raw in RAW:
            with socket.create_connection((server.host, server.port), timeout=400) as client:
                client.sendall(raw)
        json.loads(server.rows("/api/v1/last/summary"))
    expect("files beside the database", [p.name for p in folder.iterdir() if p.suffix == ".db"], [database.name])


def paging(tools, folder, database):
    with Server([database], folder) as server:
        for given in ({"thread": 3}, {"size_min": 4000, "to": "50%"}):
            for key in (None, "size", "lifetime_ns", "address"):
                for order in ("asc", "dsc"):
                    asked = {**given, **({"sort_by": key} if key else {}), "order": order}
                    rows = lambda **more: json.loads(server.rows("/api/v1/last/allocations", **asked, **more))
                    wanted = [row["allocation_id"] for row in rows()]
                    found = [row["allocation_id"] for row in rows(count=337)]
                    while len(found) < len(wanted):
                        page = [row["allocation_id"] for row in rows(count=337, after=found[-1])]
                        expect(f"a page behind {found[-1]} of {asked} is empty", page == [], False)
                        found += page
                    expect(f"rows behind the last of {asked}", rows(after=found[-1]), [])
                    expect(f"pages of {asked} are the whole", found == wanted and len(found) > 100, True)
        expect("behind no allocation", error_of(server.ask("/api/v1/last/allocations?after=99999999"))[0], 404)
        expect("pages of leaks", error_of(server.ask("/api/v1/last/leaks?after=1"))[0], 400)


def warnings(tools, folder, database):
    """The warnings of an answer equal those of the command line, for all parameters, without computing the answer."""
    with Server([database], folder) as server:
        function = json.loads(server.ask("/api/v1/last/by-function?count=1")[2])[0]["function"]
        for parameters in ({}, {"show_sql": "yes"}, {"show_sql": "yes", "blame_past": function}, {"size_min": "2"}, {"size_min": "2", "show_sql": "yes"}):
            status, _, body = server.ask("/api/v1/last/notes?" + urllib.parse.urlencode({"command": "leaks", **parameters}))
            options = [f"--{name.replace('_', '-')}" + ("" if value == "yes" else f"={value}") for name, value in parameters.items() if name != "show_sql"]
            run = subprocess.run([tools.query, "leaks", database, "--format=json", *options], capture_output=True, text=True, timeout=400, env=harness.environment(), check=True)
            output = [line.removeprefix("mtrace-query: note: ") for line in run.stderr.splitlines()]
            expect(f"beside leaks {parameters}", (status, [row["note"] for row in json.loads(body)]), (200, output))
        status, message = error_of(server.ask("/api/v1/last/notes?command=leaks&nothing=1"))
        expect("a parameter that there is not", (status, "nothing" in message), (400, True))
    slim = Path(shutil.copy(database, Path(folder, "slim.db")))
    with contextlib.closing(sqlite3.connect(slim)) as connection, connection:
        connection.execute("UPDATE meta SET value = 1 WHERE key = 'slim'")
    with Server([slim], folder) as server:
        for table, n_notes in (("allocations", 1), ("backtrace_totals", 0)):
            statement = f"SELECT count(*) FROM {table}"
            status, _, body = server.ask("/api/v1/last/notes?" + urllib.parse.urlencode({"command": "sql", "argument": statement}))
            expect(f"beside {statement}", (status, len(json.loads(body))), (200, n_notes))


def completion(tools, folder, database):
    rows = harness.Database(database).rows
    with Server([database], folder) as server:
        meta = json.loads(server.rows("/api/v1"))
        for parameter in meta["filters"]:
            if parameter["has_values"]:
                json.loads(server.rows("/api/v1/last/values", parameter=parameter["name"]))
            for word in parameter["words"] or []:
                server.rows("/api/v1/last/groups", **{parameter["name"]: word, "count": 1})
        measures = next(option["words"] for option in meta["options"] if option["name"] == "measure")
        for word in measures:
            server.rows("/api/v1/last/tree", measure=word, alive_at="peak")
        functions = json.loads(server.rows("/api/v1/last/values", parameter="function_regex", count=0))
        expect("functions", {row["value"] for row in functions},
               {name for name, in rows("SELECT DISTINCT name FROM functions JOIN function_totals USING (function_id)")})
        expect("functions with WORK in them, in any case", [row["value"] for row in json.loads(server.rows("/api/v1/last/values", parameter="focus", part="WORK"))],
               [row["value"] for row in functions if "work" in row["value"].lower()])
        for row in json.loads(server.rows("/api/v1/last/values", parameter="thread", count=0)):
            found = len(json.loads(server.rows("/api/v1/last/allocations", thread=row["value"], count=0)))
            expect(f"allocations of thread {row}", found, rows("SELECT allocated_blocks FROM threads WHERE thread_id = " + row["value"])[0][0])


def source(tools, folder, database):
    text = folder / "program.c"
    text.write_text("#include <stdlib.h>\nint main(void)\n{\n    char *volatile block = malloc(777);\n    return block == 0;\n}\n")
    compiler = os.environ.get("CC", "cc")
    if not shutil.which(compiler):
        raise harness.Skip(f"there is no {compiler}")
    harness.run([compiler, "-g", "-O0", text, "-o", folder / "program"], folder)
    with Server([harness.record_database(tools, folder, "own", [folder / "program"])], folder) as server:
        ask = lambda **parameters: json.loads(server.rows("/api/v1/last/source", path=text, **parameters))
        found = ask(measure="leaked")
        expect("the file", (found["path"], found["state"], found["text"]), (str(text), "unchanged", text.read_text()))
        expect("its lines", [(line["line"], line["own_bytes"]) for line in found["lines"]], [(4, 777)])
        expect("a wrong filter", error_of(server.ask(f"/api/v1/last/source?path={text}&size_min=huge"))[0], 400)
        text.write_text(text.read_text() + "/* more */\n")
        expect("a file that was modified", (ask()["state"], ask()["text"]), ("changed", text.read_text()))
        text.write_bytes(b"\0\1")
        expect("no text", (ask()["state"], ask()["text"]), ("unreadable", None))
        text.write_text("x" * (5 << 20))
        expect("too long a file", (ask()["state"], ask()["text"]), ("unreadable", None))
        text.unlink()
        os.mkfifo(text)
        expect("a pipe", (ask()["state"], ask()["text"]), ("unreadable", None))
        text.unlink()
        expect("no file", (ask()["state"], ask()["text"]), ("absent", None))
        for path in ("/etc/passwd", "program.c", str(folder / "own.db"), "../program.c"):
            expect(path, error_of(server.ask(f"/api/v1/last/source?path={path}"))[0], 404)
        expect("no path", error_of(server.ask("/api/v1/last/source"))[0], 400)


def several(tools, folder, database):
    argv, env = harness.record_argv(tools, "record", folder / "other.dat", [tools.workloads / "leak_c"])
    harness.run(argv, folder, env)
    (folder / "copies").mkdir()
    shutil.copy(database, folder / "copies" / "a.db")
    (folder / "copies" / "b.txt").write_text("no database")
    with Server([database, "other.dat", "copies"], folder) as server:
        recordings = json.loads(server.rows("/api/v1"))["recordings"]
        expect("recordings", [r["name"] for r in recordings], [database.name, "other.db", "a.db"])
        ids = [r["id"] for r in recordings]
        expect("ids", len(set(ids)), 3)
        expect("the last one", server.rows("/api/v1/last/leaks"), server.rows(f"/api/v1/{ids[1]}/leaks"))
        output = harness.run([tools.query, "diff", database, folder / "other.db", "--json"], folder)
        expect("a diff", server.rows(f"/api/v1/{ids[0]}/diff", argument=ids[1]), output.stdout)
        expect("two times", server.ask(f"/api/v1/{ids[0]}/diff?alive_at=10%25&alive_at=90%25")[0], 200)
        expect("a diff with a file", error_of(server.ask(f"/api/v1/{ids[0]}/diff?argument=other.db"))[0], 404)
        expect("no path in a message", [str(folder) in error_of(server.ask(f"/api/v1/{i}/stack?argument=99999999"))[1] for i in ids], [False] * 3)
        path = f"/api/v1/{ids[0]}/groups?size_min=64"
        etag = server.ask(path)[1]["ETag"]
        expect("asked again", server.ask(path, headers={"If-None-Match": etag})[::2], (304, b""))
        expect("another query", server.ask(path + "&count=1", headers={"If-None-Match": etag})[0], 200)
        expect("another recording", server.ask(f"/api/v1/{ids[1]}/groups?size_min=64", headers={"If-None-Match": etag})[0], 200)
        (folder / "copies" / "a.db").write_bytes(b"no database any more")
        expect("bytehound's list without what cannot be read", [r["id"] for r in json.loads(server.rows("/list"))], ids[:2])
        harness.run([tools.importer, "--force", folder / "run.dat", database], folder)
        expect("a new database", server.ask(path, headers={"If-None-Match": etag})[0], 200)


RUNS_UNTIL_SIGNALLED = """
import os, time
keep = []
while not os.path.exists("stop"):
    keep.append(["x" * 777 for i in range(20)])
    time.sleep(0.002)
"""


def events(server):
    """(name, data) of each event, as they come."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=400)
    connection.request("GET", "/api/v1/events")
    response = connection.getresponse()
    expect("the type of events", response.headers["Content-Type"], "text/event-stream")
    name = None
    for line in response:
        text = line.decode().rstrip()
        if text.startswith("event: "):
            name = text[len("event: "):]
        elif text.startswith("data: "):
            yield name, json.loads(text[len("data: "):])


def live(tools, folder, database):
    argv, env = harness.record_argv(tools, "record", folder / "live.dat", [sys.executable, "-c", RUNS_UNTIL_SIGNALLED])
    with subprocess.Popen(argv, cwd=folder, env={**env, "PYTHONMALLOC": "malloc"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recorder:
        try:
            with Server(["--follow", "live.dat", database], folder) as server:
                recordings = json.loads(server.rows("/api/v1"))["recordings"]
                expect("recordings", [(r["name"], r["is_growing"]) for r in recordings], [("live.db", True), (database.name, False)])
                path = f"/api/v1/{recordings[0]['id']}/sql"
                allocated = lambda: json.loads(server.ask(path, "POST", "SELECT coalesce(sum(allocated_blocks), 0) AS n FROM backtrace_totals")[2])[0]["n"]
                reply = events(server)
                expect("the first event of each", {(name, data["recording"]) for name, data in (next(reply), next(reply))},
                       {("data", r["id"]) for r in recordings})
                before = allocated()
                while allocated() == before:  # the event may be about what was there already
                    name, data = next(reply)
                    expect("an event", (name, data["recording"], data["is_growing"]), ("data", recordings[0]["id"], True))
                (folder / "stop").touch()
                while name != "end":
                    name, data = next(reply)
                rows = json.loads(server.ask(path, "POST", "SELECT count(*) AS n FROM allocations")[2])[0]["n"]
                expect("rows at the end", rows, allocated())
                expect("growing", [r["is_growing"] for r in json.loads(server.rows("/api/v1"))["recordings"]], [False, False])
                reply.close()
        finally:
            (folder / "stop").touch()


def strangers(tools, folder, database):
    path = "/api/v1/last/summary"
    with Server([database], folder) as server:
        for headers, wanted in (({"Host": "evil.example"}, 421), ({"Host": f"127.0.0.1.evil.example:{server.port}"}, 421), ({"Origin": "http://evil.example"}, 403),
                                ({"Origin": "null"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403), ({"Host": "localhost"}, 200),
                                ({"Host": "LOCALHOST:80"}, 200), ({"Host": "[::1]:65535"}, 200), ({"Host": "localhost:evil"}, 421), ({"Host": "localhost:"}, 421),
                                ({"Host": "localhost:65536"}, 421), ({"Host": "localhost:99999999"}, 421)):
            status, answered, body = server.ask(path, headers=headers)
            expect(f"{headers}", status, wanted)
            expect(f"{headers}: a word of the recording", b"allocat" in body, wanted == 200)
            expect("CORS", answered["Access-Control-Allow-Origin"], None)
            expect("a policy", "default-src 'none'" in answered["Content-Security-Policy"], True)
        reply = raw_answer(server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        expect("two hosts", (reply.split(b" ")[1], b"more than one host" in reply), (b"400", True))
    with Server(["--listen", "127.0.0.1", database], folder) as server:
        expect("without a token", error_of(server.ask(path))[0], 401)
        expect("a wrong token", error_of(server.ask(path, headers={"Authorization": "Bearer " + server.token[:-1] + "!"}))[0], 401)
        expect("the token", server.ask(path, headers={"Authorization": "Bearer " + server.token})[0], 200)
        status, headers, _ = server.ask("/?token=" + server.token)
        expect("the address", (status, headers["Location"]), (303, "/"))
        cookie = headers["Set-Cookie"].split(";")[0]
        expect("the cookie", server.ask(path, headers={"Cookie": cookie})[0], 200)
        expect("the cookie's flags", all(flag in headers["Set-Cookie"] for flag in ("HttpOnly", "SameSite=Strict")), True)


def raw_answer(server, request):
    """The bytes that the server sends until it closes the connection."""
    with socket.create_connection((server.host, server.port), timeout=400) as client:
        client.sendall(request if isinstance(request, bytes) else request.encode())
        return b"".join(iter(lambda: client.recv(1 << 16), b""))


def threads_of(server):
    return len(list(Path(f"/proc/{server.process.pid}/task").iterdir()))


def settles(what, holds):
    """Only a condition that never holds is a failure."""
    for _ in range(2000):
        if holds():
            return
        time.sleep(0.1)
    raise harness.Failure(f"{what} did not come about")


def is_answered(server, timeout=400):
    with contextlib.suppress(OSError):
        return server.ask("/api/v1/last/summary", timeout=timeout)[0] == 200
    return False


# SQLite's own functions take minutes for these, and nothing interrupts them. Also values that SQLite computes for minutes before it refuses them as
# too long.
TOO_LONG = ["length(zeroblob(2000000))", "length(hex(zeroblob(600000)))", "instr(zeroblob(900000) || zeroblob(900000), 'x')"]
LONG_MADE = ["printf('" + "%.*c" * 40 + "'" + ", 2147483647, 'x'" * 40 + ")",
             ", ".join(["length(trim(replace(hex(zeroblob(20000)), '0', 'a'), replace(hex(zeroblob(8000)), '0', 'b') || 'a'))"] * 40)]


def doubled(n):
    """Each table expression names the one before twice, and SQLite copies it for each."""
    return "WITH c0 AS (SELECT 1 AS x)" + "".join(f", c{i} AS (SELECT p.x FROM c{i - 1} AS p UNION SELECT q.x FROM c{i - 1} AS q)" for i in range(1, n)) + f" SELECT * FROM c{n - 1}"


def slow_clients(server):
    """200 clients that send a byte now and then: they do not block others, and are disconnected."""
    clients = [socket.create_connection((server.host, server.port)) for _ in range(200)]
    left = list(clients)
    for i in range(600):
        for client in list(left):
            try:
                client.send(b"G" if i == 0 else b"E")
            except OSError:
                left.remove(client)
        if i < 3:
            expect("an answer beside slow clients", is_answered(server), True)
        if not left:
            break
        time.sleep(0.1)
    expect("slow clients that were not given up", len(left), 0)
    for client in clients:
        client.close()


REFUSED = ["VACUUM", "VACUUM INTO '/tmp/x'", "ATTACH '/tmp/x' AS x", "DETACH x", "BEGIN", "SAVEPOINT x", "RELEASE x", "PRAGMA journal_mode = wal", "PRAGMA query_only = 0", "CREATE TABLE x(y)",
           "CREATE TEMP TABLE x(y)", "INSERT INTO leaks VALUES (1)", "DELETE FROM meta", "REINDEX", "ANALYZE", "EXPLAIN DELETE FROM meta", "SELECT fts3_tokenizer('simple')",
           "SELECT fts3_tokenizer('simple', x'00')", "SELECT FTS3_Tokenizer('simple')", "SELECT load_extension('x')", "SELECT json_extract('{', '$.a')", "SELECT abs(-9223372036854775808)",
           "SELECT 1 FROM meta WHERE value MATCH 'x'", "SELECT matchinfo(1)", "SELECT 1 LIMIT 'x'", "SELECT nth_value(1, -1) OVER () FROM meta", "SELECT value FROM json_each('{')",
           "SELECT * FROM pragma_database_list", "SELECT * FROM dbstat", "SELECT nothing", "SELECT x'zz'"]


def refused(server):
    """A statement that is wrong or not allowed is the client's error, with a message about the statement."""
    for statement in REFUSED:
        status, message = error_of(server.ask("/api/v1/last/sql", "POST", statement))
        expect(f"{statement}: {message}", (status, message.startswith(("only reading is allowed", "cannot run the statement: "))), (400, True))


def ask_and_read_nothing(server, stack, request):
    client = stack.enter_context(socket.socket())
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((server.host, server.port))
    client.sendall(request.encode())


def greedy(tools, folder, database):
    """A client that requests much, and one that reads nothing, do not block reports of others."""
    with Server(["--sql-timeout", "1h", database], folder) as server:
        keep_reports(server)


def keep_reports(server):
    idle = threads_of(server)
    with contextlib.ExitStack() as stack:
        for _ in range(12):
            ask_and_read_nothing(server, stack, f"POST /api/v1/last/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(ENDLESS)}\r\n\r\n{ENDLESS}")
        settles("twelve endless statements", lambda: threads_of(server) >= idle + 24)
        expect("a report beside statements", is_answered(server, timeout=50), True)
    settles("the end of the statements", lambda: threads_of(server) <= idle)
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            ask_and_read_nothing(server, stack, "GET /api/v1/last/allocations?count=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        settles("eight answers that are not read", lambda: threads_of(server) >= idle + 16)
        # The server would close them after a minute without any need.
        expect("a report beside clients that read nothing", is_answered(server, timeout=50), True)


def is_limited(status, message):
    """A fast machine reaches the limit of memory before that of time."""
    return (status, "longer" in message, "no memory left" in message) in [(503, True, False), (500, False, True)]


def limits(tools, folder, database):
    with Server([database], folder) as server:
        refused(server)
    with Server(["--sql-timeout", "1s", database], folder) as server:
        status, message = error_of(server.ask("/api/v1/last/sql", "POST", ENDLESS))
        expect("an endless statement", (status, "longer" in message), (503, True))
        status, message = error_of(server.ask("/api/v1/last/sql", "POST", HEAVY))
        expect("an endless statement whose steps are long", (status, "longer" in message), (503, True))
        rows = ENDLESS.replace("count(*)", "x")
        reply = raw_answer(server, f"POST /api/v1/last/sql HTTP/1.0\r\nHost: localhost\r\nContent-Length: {len(rows)}\r\n\r\n{rows}")
        expect("a long answer that was cut off is not whole", (reply.split(b" ")[1], len(reply) > 1 << 18, reply.rstrip().endswith(b"]")), (b"200", True, False))
        for made in TOO_LONG:
            status, message = error_of(server.ask("/api/v1/last/sql", "POST", f"SELECT {made}"))
            expect(f"a value that is too long: {message}", (status, "more than" in message), (400, True))
        for statement in [f"SELECT {made}" for made in LONG_MADE] + [doubled(24)]:
            begin = time.monotonic()
            status, message = error_of(server.ask("/api/v1/last/sql", "POST", statement))
            expect(f"{statement[:100]}: {status} {message}", is_limited(status, message), True)
            expect("it ends a second later", time.monotonic() - begin < 20, True)
        status, message = error_of(server.ask("/api/v1/last/notes?" + urllib.parse.urlencode({"command": "sql", "argument": doubled(24)})))
        expect(f"its notes: {status} {message}", is_limited(status, message), True)
        settles("the end of the processes", lambda: children_of(server) == 0)
    with Server(["--sql-timeout", "1us", database], folder) as server:
        status, _ = error_of(server.ask("/api/v1/last/sql", "POST", ENDLESS))
        expect("statements have the time that was given, reports their own", (status, server.ask("/api/v1/last/leaks")[0]), (503, 200))
    with Server(["--sql-timeout", "100s", database], folder) as server:
        slow_clients(server)
    with Server(["--sql-timeout", "1h", database], folder) as server:
        idle = threads_of(server)
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(socket.create_connection((server.host, server.port))) for _ in range(80)]
            expect("an answer beside silent clients", is_answered(server), True)
            for client in clients:
                client.settimeout(400)
                expect("a client that asks nothing is given up", client.recv(1), b"")
        settles("the end of connections that asked nothing", lambda: threads_of(server) <= idle)
        with socket.create_connection((server.host, server.port)) as client:
            request = f"POST /api/v1/last/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(ENDLESS)}\r\n\r\n{ENDLESS}"
            client.sendall(request.encode())
            settles("a worker", lambda: threads_of(server) > idle)
            settles("its process", lambda: children_of(server) == 1)
        settles("the end of the worker of a client that left", lambda: threads_of(server) <= idle and children_of(server) == 0)
        paths = ["/api/v1/last/summary", "/api/v1/last/peak", "/api/v1/last/tree", "/api/v1/last/groups", "/data/last/allocation_groups?count=20"]
        wanted = {path: server.rows(path) for path in paths}
        resident = []
        for _ in range(6):
            ask_at_once(server, wanted)
            resident.append(resident_bytes(server))
        expect(f"memory grows with clients that were there: {resident}", min(resident[3:]) > max(resident[:3]) * 5 // 4, False)


# One row, during which SQLite does not check for interrupts.
STUBBORN = ("WITH t AS MATERIALIZED (SELECT replace(hex(zeroblob(24000)), '00', '%J') AS f) SELECT "
            + ", ".join(["max(length(strftime(f, 0)), length(strftime(f, 1)), length(strftime(f, 2)))"] * 600) + " FROM t")


def stubborn(tools, folder, database):
    """Whatever statements do, the server ends soon after a request to end."""
    with Server(["--sql-timeout", "1h", database], folder) as server:
        idle = threads_of(server)
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                ask_and_read_nothing(server, stack, f"POST /api/v1/last/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(STUBBORN)}\r\n\r\n{STUBBORN}")
            settles("three statements", lambda: threads_of(server) >= idle + 6)
            begin = time.monotonic()
            server.process.terminate()
            server.process.wait(timeout=400)
            took = time.monotonic() - begin
            print(f"ended after {took:.1f} s")
            expect(f"the server took {took} s to end", took < 6, True)


def children_of(server):
    return len(Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()) + sum(
        len(task.joinpath("children").read_text().split()) for task in Path(f"/proc/{server.process.pid}/task").iterdir()
        if task.name != str(server.process.pid) and task.joinpath("children").exists())


def resident_bytes(server):
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def ask_at_once(server, wanted):
    """32 clients, each of which asks several times and compares."""
    failures = []

    def ask_often(path):
        for _ in range(2):
            if server.rows(path) != wanted[path]:
                failures.append(path)

    paths = list(wanted)
    clients = [threading.Thread(target=ask_often, args=(paths[i % len(paths)],)) for i in range(32)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    expect("answers that differ between 32 clients", failures, [])


def openapi(tools, folder, database):
    try:
        from openapi_spec_validator import validate
    except ImportError:
        raise harness.Skip("the Python package openapi-spec-validator is not installed") from None
    with Server([database], folder) as server:
        document = json.loads(server.rows("/api/v1/openapi.json"))
        validate(document)
        commands = {command["name"] for command in json.loads(server.rows("/api/v1"))["commands"]}
        expect("paths", {path.rsplit("/", 1)[1] for path in document["paths"]} - {""}, commands | {"values", "source", "notes", "events"})


CASES = {"answers": answers, "paging": paging, "completion": completion, "warnings": warnings, "source": source, "several": several, "live": live,
         "openapi": openapi, "bad_input": bad_input, "strangers": strangers, "limits": limits, "stubborn": stubborn, "greedy": greedy}


def main(name):
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch:
        folder = Path(scratch)
        CASES[name](tools, folder, harness.record_database(tools, folder, "run", [tools.workloads / "threads"]))


if __name__ == "__main__":
    harness.main(lambda: main(sys.argv[1]))
