// SPDX-License-Identifier: MIT
// heap_map: the pages of all heaps at any instant, by use or by call site; what is in a page, and what pins it.

import { useMemo, useState } from "preact/hooks";
import { go, toView, valueOf, withValues, type Address } from "../address";
import { apiAddress, useSql, type Row } from "../api";
import type { PageProps } from "../app";
import { number } from "../curves";
import { formatAddress, formatBlocks, formatBytes, formatCount, formatShare, placeOf } from "../format";
import { colourOfPage, HeapCanvas, type Colouring } from "../heap_canvas";
import { heapsOf, isPinned, PAGE_BYTES, pagesStatement, type Heap, type Page } from "../heap_pages";
import { InstantForm, instantOf } from "../instant";
import { formatInstant, instantText, parseInstant } from "../instants";
import { openMenu, type MenuEntry } from "../menu";
import { Notice } from "../notice";
import { ofShown, ShownProcess, useProcesses } from "../processes";
import { isDark } from "../settings";

const STEPS = 1000;

function heapsStatement(process: number, atNs: number): string {
  return `SELECT h.heap_id, h.kind, h.start_address, (SELECT e.end_address FROM heap_extents AS e WHERE e.heap_id = h.heap_id AND e.at_ns <= ${atNs} ORDER BY e.at_ns DESC LIMIT 1) AS end_then
FROM heaps AS h WHERE h.process_id = ${process} ORDER BY h.heap_id`;
}

interface Chosen {
  readonly heap: Heap;
  readonly index: number;
}

function siteName(sites: ReadonlyMap<number, Row>, site: number): string {
  const row = sites.get(site);
  return row ? placeOf(row) : "an unknown call site";
}

function pageText({ heap, index }: Chosen, sites: ReadonlyMap<number, Row>): string {
  const page = heap.pages[index];
  const where = `page ${formatAddress(heap.start + index * PAGE_BYTES)} of heap ${heap.id}`;
  if (!page) return `${where}: ${index > heap.topmost ? "free, above the topmost live block: can be trimmed" : "free"}`;
  const blocks = formatBlocks(page.blocks);
  const one = page.sites[0];
  const owner = one === undefined ? "of several stacks, or some that are not known" : page.site >= 0 ? `all of ${siteName(sites, one)}` : `of several call sites, one is ${siteName(sites, one)}`;
  return `${where}: ${formatShare(Math.min(1, page.bytes / PAGE_BYTES))} live, ${blocks} ${owner}${isPinned(page) ? ", which alone keeps this page" : ""}`;
}

function pageEntries(address: Address, { heap, index }: Chosen, page: Page, atNs: number, sites: ReadonlyMap<number, Row>): MenuEntry[] {
  const start = heap.start + index * PAGE_BYTES;
  return [
    ...page.sites.map((site): MenuEntry => [`stacks of ${siteName(sites, site)}`, toView(address, "groups", { site: String(site), alive_at: null })]),
    ...(page.example === null ? [] : [[`block ${page.example}, one of ${formatBlocks(page.blocks)}`, toView(address, "allocation", { argument: String(page.example), alive_at: null })] as MenuEntry]),
    ["blocks that begin on this page", toView(address, "allocations", { address_min: formatAddress(start), address_max: formatAddress(start + PAGE_BYTES - 1), alive_at: instantText(atNs) })],
  ];
}

function Legend({ colouring, dark }: { colouring: Colouring; dark: boolean }) {
  const sample = (share: number): Page => ({ bytes: share * PAGE_BYTES, site: 1, sites: [1], blocks: 1, example: 0 });
  const swatch = (colour: string) => <span class="swatch" style={{ background: colour }} />;
  return (
    <p class="hint">
      A cell is a page of 4 KiB; addresses grow to the right and down.{" "}
      {colouring === "use" ? <>Live: {[0.05, 0.35, 0.65, 1].map((share) => swatch(colourOfPage(sample(share), "use", dark)))} 0 to 100 %.</> : <>A colour stands for a call site, {swatch(colourOfPage({ ...sample(1), site: -1 }, "site", dark))} for several.</>}{" "}
      {swatch(colourOfPage(undefined, "use", dark))} free. A red dot: less than half of the page is live, and all of that is of one call site, which pins it.
    </p>
  );
}

function HeapTitle({ heap }: { heap: Heap }) {
  const used = heap.pages.filter((page) => page !== undefined);
  const live = used.reduce((sum, page) => sum + page.bytes, 0);
  const pinned = used.filter(isPinned).length;
  return (
    <h2>
      {heap.kind} heap {heap.id}{" "}
      <span class="hint">
        {formatBytes(heap.pages.length * PAGE_BYTES)} from {formatAddress(heap.start)}, {formatShare(live / (heap.pages.length * PAGE_BYTES))} live; {formatCount(heap.topmost + 1 - used.length)} free pages below the topmost block, {formatCount(pinned)} pinned
      </span>
    </h2>
  );
}

function Slider({ address, atNs, endNs }: { address: Address; atNs: number; endNs: number }) {
  const [moved, setMoved] = useState<number | null>(null);
  const shown = moved ?? atNs;
  return (
    <label class="controls slider">
      <input
        type="range"
        min={0}
        max={STEPS}
        value={Math.round((shown / Math.max(1, endNs)) * STEPS)}
        aria-label="instant"
        aria-valuetext={formatInstant(shown)}
        onInput={(event) => setMoved((Number(event.currentTarget.value) / STEPS) * endNs)}
        onChange={(event) => {
          setMoved(null);
          go(withValues(address, { alive_at: instantText((Number(event.currentTarget.value) / STEPS) * endNs) }), "replace");
        }}
      />
      {formatInstant(shown)}
    </label>
  );
}

function Maps({ address, process }: { address: Address; process: Row }) {
  const start = number(process, "start_ns");
  const endNs = start + number(process, "duration_ns");
  const instant = instantOf(address);
  const atNs = Math.round(instant === "peak" ? number(process, "peak_ns") : instant === "end" ? endNs : (parseInstant(instant, endNs) ?? number(process, "peak_ns")));
  const colouring: Colouring = valueOf(address, "colour") === "site" ? "site" : "use";
  const id = number(process, "process_id");
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const used = useSql(address.recording, pagesStatement(id, atNs));
  const rows = useSql(address.recording, heapsStatement(id, atNs));
  const names = useSql(address.recording, "SELECT * FROM sites LIMIT 20000");
  const sites = useMemo(() => new Map((names.data ?? []).map((row) => [Number(row.call_site_id), row])), [names.data]);
  const heaps = useMemo(() => heapsOf(rows.data ?? [], used.data ?? []), [rows.data, used.data]);
  const open = (heap: Heap) => (index: number, x: number, y: number) => {
    const page = heap.pages[index];
    if (page) openMenu(x, y, pageText({ heap, index }, sites), pageEntries(address, { heap, index }, page, atNs, sites));
  };
  return (
    <div aria-busy={used.isLoading} class={used.isLoading ? "stale" : ""}>
      <Slider address={address} atNs={atNs} endNs={endNs} />
      <p class="controls">
        <label>
          colours show{" "}
          <select value={colouring} onChange={(event) => go(withValues(address, { colour: event.currentTarget.value }))}>
            <option value="use">how full pages are</option>
            <option value="site">whose they are</option>
          </select>
        </label>
        <a href={apiAddress(address.recording, "heap-map", [["process", String(id)], ["alive_at", instant]])}>as one picture (SVG)</a>
      </p>
      <Legend colouring={colouring} dark={isDark()} />
      <p class="flame-line" role="status">
        {chosen && pageText(chosen, sites)}
      </p>
      {heaps.length === 0 && <Notice answer={used} empty="no heap had a page then" />}
      {heaps.map((heap) => (
        <section key={heap.id}>
          <HeapTitle heap={heap} />
          <HeapCanvas
            heap={heap}
            colouring={colouring}
            dark={isDark()}
            label={`${heap.kind} heap ${heap.id}`}
            chosen={chosen?.heap === heap ? chosen.index : null}
            onPage={(index) => setChosen((former) => (former?.heap === heap && former.index === index ? former : { heap, index }))}
            onOpen={open(heap)}
          />
        </section>
      ))}
    </div>
  );
}

export function HeapMap({ address, recording }: PageProps) {
  const processes = useProcesses(address, recording);
  return (
    <section>
      <ShownProcess address={address} processes={processes} />
      <InstantForm address={address} />
      {processes.shown ? <Maps address={ofShown(address, recording, processes)} process={processes.shown} /> : <Notice answer={processes.answer} empty="no such process" />}
    </section>
  );
}
