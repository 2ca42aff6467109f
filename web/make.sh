#!/bin/sh
# make.sh WEB FOLDER OUTPUT.c: installs what package-lock.json names in FOLDER, checks and bundles the pages of WEB there, and
# writes them to OUTPUT.c. Where npm cannot (no network), OUTPUT.c has no pages and the program says so.
set -eu
web=$1 folder=$2 output=$3

mkdir -p "$folder"
cp "$web/package.json" "$web/package-lock.json" "$web/.npmrc" "$web/build.mjs" "$web/tsconfig.json" "$folder"
rm -rf "$folder/src"
cp -R "$web/src" "$folder/src"
cd "$folder"
if ! cmp -s package-lock.json node_modules/installed.json && ! npm ci --loglevel=error >npm.log 2>&1; then
    cat npm.log >&2
    echo "mtrace-serve is built without its pages: npm could not install what they need (above)" >&2
    printf '#include "server/http/pages.h"\n\nconst struct pages_file pages_files[] = {{0}};\n' >"$output"
    exit 0
fi
cp package-lock.json node_modules/installed.json
node node_modules/typescript/bin/tsc --noEmit
node build.mjs "$output"
