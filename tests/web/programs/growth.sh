# SPDX-License-Identifier: MIT
# growth.sh: counts requests by path, and keeps every line for a report that is never requested.
declare -A hits
lines=()
for ((i = 0; i < 8000; i++)); do
    path=/page/$((i % 97))
    hits[$path]=$((hits[$path] + 1))
    lines+=("request $i of $path, answered in time")
done
echo "${#hits[@]} paths"
