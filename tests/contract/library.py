# SPDX-License-Identifier: MIT
"""What libmtrace.so exports and imports: the names are golden lists, it needs
nothing but libc and ld.so, and no function of it takes much of the program's stack. No collector library imports a name
that the program may define.

library.py ROOT FOLDER_WITH_LIBRARIES FOLDER_WITH_SU_FILES [--write]
"""

import re
import subprocess
import sys
from pathlib import Path

import tree

# libmtrace-oracle.so is left out: it is opened with RTLD_DEEPBIND, so libunwind and libc come before the program.
LIBRARIES = ("libmtrace.so", "libmtrace-new.so", "libmtrace-attach.so", "libmtrace-nop.so")
# Undefined symbols bind to the executable's symbols first, so a program may define none of them: these names are what
# ISO C (7.1.3) reserves for the implementation, and functions of <string.h> that compilers call.
RESERVED = re.compile(r"_[_A-Z]")
STRING_FUNCTIONS = {"memcpy", "memmove", "memset", "memcmp", "strlen"}
# Reserved at file scope only. A symbol of a program has file scope, so it breaks the rule, too. Neither has another name.
RESERVED_AT_FILE_SCOPE = {"_dl_find_object", "_r_debug"}
NEEDED = {"libc.so.6", "ld-linux-x86-64.so.2"}
# Of a wrapper's way to the log, frame by frame; other functions are start, growth or a rare call.
EVENT_PATH = {"malloc", "free", "calloc", "realloc", "reallocate", "record_alloc", "record_free", "record_realloc",
              "write_draft", "capture_stack_id", "thread_enter_slow", "reservation_fallback_write", "segment_take",
              "begin_filling", "next_segment", "continue_segment", "make_room_slow", "stack_tree_child"}
MAX_BYTES_ON_EVENT_PATH = 192
MAX_BYTES_ANYWHERE = 1536


def names(library, which):
    lines = subprocess.run(["nm", "-D", which, library], check=True, capture_output=True, text=True).stdout
    return sorted({re.sub(r"@.*", "", line.split()[-1]) for line in lines.splitlines()})


def compare(what, found, path, write):
    if write:
        path.write_text("".join(f"{name}\n" for name in found))
    wanted = path.read_text().split()
    for name in sorted(set(found) - set(wanted)):
        yield f"{what} now: {name} (not in {path.name})"
    for name in sorted(set(wanted) - set(found)):
        yield f"{what} no longer: {name} (still in {path.name})"


def unreserved(library):
    for name in names(library, "--undefined-only"):
        if not RESERVED.match(name) and name not in STRING_FUNCTIONS | RESERVED_AT_FILE_SCOPE:
            yield f"{library.name} imports {name}, which a program may define: see real_find_in_libc"


def dynamic_section(library):
    text = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True, text=True).stdout
    for name in re.findall(r"NEEDED.*\[(.*)\]", text):
        if name not in NEEDED:
            yield f"needs {name}"
    if "STATIC_TLS" not in text:
        yield "thread state is not initial-exec: the first event of a thread would allocate"
    if "TEXTREL" in text:
        yield "has text relocations"
    if "NOW" not in text:
        yield "binds lazily: the first call of a libc function would take ld.so's lock"


def stack_usage(folder):
    n_checked = 0
    for path in sorted(Path(folder).rglob("*.su")):
        for line in path.read_text().splitlines():
            place, size_bytes, kind = line.split("\t")
            function = place.split(":")[-1].split(".")[0]
            most = MAX_BYTES_ON_EVENT_PATH if function in EVENT_PATH else MAX_BYTES_ANYWHERE
            n_checked += 1
            if int(size_bytes) > most:
                yield f"{Path(place.split(':')[0]).name}: {function} takes {size_bytes} bytes of stack, bound {most}"
            if kind.startswith("dynamic") and "bounded" not in kind:
                yield f"{function} takes an unbounded amount of stack"
    if n_checked == 0:
        yield f"no .su files below {folder}"


def main():
    root, folder, su_folder = sys.argv[1:4]
    library, nop = Path(folder) / "libmtrace.so", Path(folder) / "libmtrace-nop.so"
    write = "--write" in sys.argv
    golden = Path(root) / "tests" / "contract"
    exported = names(library, "--defined-only")
    broken = list(compare("exports", exported, golden / "exports.golden", write))
    broken += compare("imports", names(library, "--undefined-only"), golden / "imports.golden", write)
    broken += [f"libmtrace-nop.so differs in {name}" for name in set(exported) ^ set(names(nop, "--defined-only"))]
    broken += [line for name in LIBRARIES for line in unreserved(Path(folder) / name)]
    broken += dynamic_section(library)
    broken += stack_usage(su_folder)
    tree.finish("library", len(exported), broken)


main()
