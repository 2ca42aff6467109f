// SPDX-License-Identifier: MIT
// build.mjs OUTPUT.c [FOLDER]: bundles src/ and writes its files, compressed, as the table `pages_files` of server/http/pages.h.
// With FOLDER the bundle is left there, too, to be looked at.

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const [output, folder] = process.argv.slice(2);

const bundle = await build({
  entryPoints: [join(here, "src", "app.tsx")],
  outdir: folder ?? "out",
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome109", "firefox109", "safari16"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "linked",
  write: false,
  logLevel: "warning",
});

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8" };

function etagOf(bytes) {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
}

// A script or style has its hash in its name: a browser that has it asks no more (server/http/pages.h).
function named(file) {
  const bytes = Buffer.from(file.contents);
  const name = file.path.split("/").at(-1);
  return { name, path: "/" + (/\.(js|css)$/.test(name) ? name.replace(".", `-${etagOf(bytes)}.`) : name), bytes };
}

const parts = bundle.outputFiles.map(named);
const page = parts.reduce((text, part) => text.replace(`"/${part.name}"`, `"${part.path}"`), readFileSync(join(here, "src", "index.html"), "utf8"));
const files = [{ path: "/index.html", bytes: Buffer.from(page) }, ...parts].sort((a, b) => (a.path < b.path ? -1 : 1));

if (folder) {
  mkdirSync(folder, { recursive: true });
  for (const file of files) writeFileSync(join(folder, file.path), file.bytes);
}

function row(file) {
  const packed = gzipSync(file.bytes, { level: 9 });
  const etag = etagOf(file.bytes);
  const type = TYPES[file.path.slice(file.path.lastIndexOf("."))];
  return { packed, text: `    {"${file.path}", "${type}", "${etag}", file_${etag}, ${packed.length}},\n`, data: `static const unsigned char file_${etag}[] = {${[...packed].join(",")}};\n` };
}

const rows = files.map(row);
writeFileSync(
  output,
  `/* Made by web/build.mjs. */\n#include "server/http/pages.h"\n\n${rows.map((r) => r.data).join("")}\n` +
    `const struct pages_file pages_files[] = {\n${rows.map((r) => r.text).join("")}    {0},\n};\n`,
);
console.log(`pages: ${rows.reduce((sum, r) => sum + r.packed.length, 0)} bytes compressed`);
