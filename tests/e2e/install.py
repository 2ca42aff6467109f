#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""install.py prefix|package|collector|TRIPLET CMAKE CPACK BUILD: installed files work alone, in any folder.

prefix installs the build below a scratch directory; package makes the Debian package and unpacks it there. Then a
program is recorded, imported and queried with nothing but the installed files in reach. collector builds the collector alone and makes
its package, which lies beside that of another processor; TRIPLET makes it of a build for that one.
"""

import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure, Skip  # noqa: E402

FILES = ("bin/mtrace-record", "bin/mtrace-run", "share/man/man1/mtrace-run.1", "bin/mtrace-import", "bin/mtrace-query", "bin/mtrace-serve", "lib/mtrace/libmtrace.so", "lib/mtrace/libmtrace-new.so",
         "lib/mtrace/libmtrace-oracle.so", "share/man/man1/mtrace-record.1", "share/mtrace/views/leaks.sql",
         "share/bash-completion/completions/mtrace-query", "share/zsh/site-functions/_mtrace", "share/fish/vendor_completions.d/mtrace-query.fish",
         "share/doc/mtrace/LICENSE", "include/mtrace.h", "include/mtrace.hpp", "include/mtrace_objects.h", "include/mtrace_objects.hpp",
         "share/pkgconfig/mtrace.pc", "share/cmake/mtrace/mtraceConfig.cmake")


PROGRAM = """
#include <mtrace.hpp>
#include <cstdlib>
static void *kept;
int main()
{
    mtrace::scope scope(mtrace::group::intern("installed", {{"by", "a test"}}));
    kept = std::malloc(12345);
    return kept == nullptr;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.13)
project(user CXX)
find_package(mtrace 0.1 REQUIRED)
add_executable(user user.cc)
target_link_libraries(user PRIVATE mtrace::mtrace)
"""


def check_header(cmake, prefix, place):
    """A program of a user finds the header by pkg-config and by CMake, and its groups are in the database."""
    user = place / "user"
    user.mkdir()
    (user / "user.cc").write_text(PROGRAM)
    (user / "CMakeLists.txt").write_text(PROJECT)
    flags = call("env", f"PKG_CONFIG_LIBDIR={prefix}/share/pkgconfig", "pkg-config", "--cflags", "mtrace").split()
    call("c++", *flags, "-o", user / "by_pkg_config", user / "user.cc")
    call(cmake, "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    call(cmake, "--build", user / "build")
    for program in (user / "by_pkg_config", user / "build/user"):
        call(prefix / "bin/mtrace-record", "--force", "-o", place / "user.dat", "--", program)
        call(prefix / "bin/mtrace-import", "-f", place / "user.dat", place / "user.db")
        charged = harness.Database(place / "user.db").value("SELECT allocated_bytes FROM by_group WHERE name = 'installed' AND tags = 'by=a test'")
        if charged != 12345:
            raise Failure(f"{program.name}: {charged} bytes are charged to the group")


def call(*argv, cwd=None):
    run = subprocess.run([str(arg) for arg in argv], cwd=cwd, capture_output=True, text=True, errors="replace",
                         timeout=300, env=harness.environment(), stdin=subprocess.DEVNULL)
    if run.returncode != 0:
        raise Failure(f"{' '.join(map(str, argv))} ended with {run.returncode}: {run.stdout}{run.stderr}")
    return run.stdout


def install(how, cmake, cpack, build, place):
    if how == "prefix":
        call(cmake, "--install", build, "--prefix", place / "usr")
        return
    if shutil.which("dpkg-shlibdeps") is None:
        raise Skip("dpkg-shlibdeps is not installed")
    call(cpack, "-G", "DEB", "-B", place / "package", "--config", Path(build) / "CPackConfig.cmake", cwd=build)
    packages = list((place / "package").glob("*.deb"))
    if len(packages) != 1:
        raise Failure(f"one package was wanted, got {packages}")
    call("dpkg", "-x", packages[0], place)
    depends = call("dpkg", "-f", packages[0], "Depends")
    if "libsqlite3-0" not in depends or "libc6" not in depends:
        raise Failure(f"the package depends on {depends}")


def check_collector(cpack, build, place, triplet):
    """Only libraries, in the folder of their processor, where mtrace-record looks for those of others; and no file that conflicts with a package of
    another processor."""
    call(cpack, "-G", "DEB", "-B", place / "package", "--config", Path(build) / "CPackConfig.cmake", cwd=build)
    package, = (place / "package").glob("*.deb")
    call("dpkg-deb", "-x", package, place / "root")
    found = sorted(str(path.relative_to(place / "root")) for path in (place / "root").rglob("*") if path.is_file())
    names = ["libmtrace-attach.so", "libmtrace-new.so", "libmtrace-oracle.so", "libmtrace.so"]
    if not (Path(build) / "lib/mtrace/libmtrace-oracle.so").exists():  # no libunwind of that processor
        names.remove("libmtrace-oracle.so")
    if found != [f"usr/lib/{triplet}/mtrace/{name}" for name in names]:
        raise Failure(f"the package has {found}")
    output = [call("dpkg-deb", "-f", package, field).strip() for field in ("Package", "Architecture", "Depends")]
    if output != ["mtrace-collector-" + triplet.split("-")[0], "all", ""]:
        raise Failure(f"the package prints {output}")


def collector(cmake, cpack):
    if shutil.which("dpkg-architecture") is None:
        raise Skip("dpkg-architecture is not installed")
    source = Path(__file__).resolve().parents[2]
    with harness.scratch() as scratch:
        place = Path(scratch)
        call(cmake, "-S", source, "-B", place / "build", "-DMTRACE_PACKAGE=collector", "-DCMAKE_BUILD_TYPE=Release", "-G", "Ninja")
        for library in ("mtrace", "mtrace_new", "mtrace_attach", "mtrace_oracle"):
            call(cmake, "--build", place / "build", "--target", library)
        check_collector(cpack, place / "build", place, call("dpkg-architecture", "-q", "DEB_HOST_MULTIARCH").strip())


def collector_built(cpack, build, triplet):
    if shutil.which("dpkg-deb") is None:
        raise Skip("dpkg-deb is not installed")
    with harness.scratch() as scratch:
        check_collector(cpack, build, Path(scratch), triplet)


def main():
    how, cmake, cpack, build = sys.argv[1:]
    if how == "collector":
        collector(cmake, cpack)
        return
    if how not in ("prefix", "package"):
        collector_built(cpack, build, how)
        return
    with harness.scratch() as scratch:
        place = Path(scratch)
        install(how, cmake, cpack, build, place)
        prefix = place / "usr"
        missing = [name for name in FILES if not (prefix / name).exists()]
        if missing:
            raise Failure(f"not installed: {missing}")
        log, database = place / "run.dat", place / "run.db"
        call(prefix / "bin/mtrace-record", "-o", log, "--", "ls", "/")
        maps = call(prefix / "bin/mtrace-record", "-o", place / "maps.dat", "--", "cat", "/proc/self/maps")
        if str(prefix / "lib/mtrace/libmtrace.so") not in maps:
            raise Failure("mtrace-record preloads another libmtrace.so than the installed one")
        call(prefix / "bin/mtrace-import", log, database)
        summary = call(prefix / "bin/mtrace-query", database)
        if "alloc" not in summary:
            raise Failure(f"the summary shows nothing: {summary}")
        if harness.Database(database).value("SELECT count(*) FROM allocations") < 10:
            raise Failure("hardly anything was recorded")
        check_header(cmake, prefix, place)


harness.main(main)
