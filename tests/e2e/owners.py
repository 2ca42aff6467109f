#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""owners.py COMPILER [FLAG...]: mtrace_objects.hpp with another compiler or standard library: the workload containers, compiled
with them, has the expected numbers. Features that a compiler lacks are skipped."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

ROOT = HERE.parents[1]


def main(compiler, *flags):
    if shutil.which(compiler) is None:
        raise harness.Skip(f"{compiler} is not installed")
    with harness.scratch() as scratch:
        probe = Path(scratch) / "probe.cc"
        probe.write_text("#include <string>\nint main() { return (int)std::string().size(); }\n")
        if subprocess.run([compiler, *flags, "-o", f"{scratch}/probe", probe], capture_output=True, check=False).returncode != 0:
            raise harness.Skip(f"{compiler} {' '.join(flags)} compiles nothing here")
        for level in ("-O0", "-O2"):
            subprocess.run([compiler, "-std=c++17", "-g", level, "-fno-builtin", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-I", ROOT, *flags, "-o",
                            f"{scratch}/containers", ROOT / "tests/workloads/containers.cc"], check=True)
            outcome = subprocess.run([sys.executable, HERE / "run.py", "record", "objects_of_cxx"], check=False,
                                     env={**os.environ, "MTRACE_TEST_WORKLOADS": scratch})
            if outcome.returncode != 0:
                raise harness.Failure(f"{compiler} {' '.join(flags)} {level}")


harness.main(lambda: main(*sys.argv[1:]))
