# SPDX-License-Identifier: MIT
"""Debug info from a real debuginfod on this machine, which serves a folder made here.

usage: debuginfod.py PRINT_POSITIONS FOLDER_OF_SOURCES
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

PROGRAM, SOURCES = sys.argv[1], Path(sys.argv[2])
SERVER = shutil.which("debuginfod", path=f"{os.environ.get('PATH', '')}:/usr/bin:/usr/local/bin")


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def build(folder, served):
    """A stripped library in one folder; its debug file in the one that is served."""
    original, stripped = folder / "original.so", folder / "lib.so"
    output_of("gcc", "-O2", "-g", "-shared", "-fPIC", "-I", SOURCES.parents[2], SOURCES / "fixture_other_unit.c", "-o", original,
              "-Wl,--build-id=sha1")
    output_of("objcopy", "--only-keep-debug", original, served / "somewhere.debug")
    output_of("objcopy", "--strip-debug", "--strip-unneeded", original, stripped)
    address = re.search(r"^([0-9a-f]+) T fixture_other_unit$", output_of("nm", "-D", original), re.M)[1]
    build_id = re.search(r"Build ID: ([0-9a-f]+)", output_of("readelf", "-n", original))[1]
    original.unlink()
    return stripped, address, build_id


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_known(url, server):
    for _ in range(300):
        if server.poll() is not None:
            sys.exit(f"debuginfod ended with {server.returncode}")
        try:
            return urllib.request.urlopen(url, timeout=5).read()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    sys.exit("debuginfod does not know the file after 30 seconds")


def ask(stripped, address, url, cache, *options):
    run = subprocess.run([PROGRAM, stripped, *options], input=address + "\n", capture_output=True, text=True, check=True,
                         env={**os.environ, "DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(cache), "DEBUGINFOD_PROGRESS": ""})
    return run.stdout.splitlines()[2], run.stderr


def expect(what, found, has_line):
    if bool(re.search(r"fixture_other_unit\.c:\d+", found[0])) != has_line:
        sys.exit(f"FAILED: {what}: {found}")
    print(f"ok: {what}")


def check(scratch):
    served, cache = scratch / "served", scratch / "cache"
    served.mkdir()
    stripped, address, build_id = build(scratch, served)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with (scratch / "server.log").open("w") as log:
        server = subprocess.Popen([SERVER, "-p", str(port), "-d", ":memory:", "-F", str(served)], stdout=log, stderr=log,
                                  env={**os.environ, "DEBUGINFOD_URLS": ""})
    try:
        wait_until_known(f"{url}/buildid/{build_id}/debuginfo", server)
        expect("not asked for", ask(stripped, address, url, cache), False)
        expect("no server is named", ask(stripped, address, "", cache, "--debuginfod"), False)
        expect("the server has it", ask(stripped, address, url, cache, "--debuginfod"), True)
    finally:
        server.terminate()
        server.wait()
    expect("kept in its cache", ask(stripped, address, url, cache, "--debuginfod"), True)
    expect("the server is gone", ask(stripped, address, url, scratch / "empty", "--debuginfod"), False)


def main():
    missing = [tool for tool in ("gcc", "objcopy", "nm", "readelf") if not shutil.which(tool)] + ([] if SERVER else ["debuginfod"])
    if missing:
        print("skipped: not installed: " + ", ".join(missing))
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="debuginfod.") as scratch:
        check(Path(scratch))


main()
