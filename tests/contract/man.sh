#!/bin/sh
# SPDX-License-Identifier: MIT
# man.sh PAGE: the formatter finds nothing to complain about.
command -v man >/dev/null || { echo "skipped: man is not installed"; exit 77; }
printed=$(LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 -Z "$1" 2>&1 >/dev/null)
echo "$printed"
test -z "$printed"
