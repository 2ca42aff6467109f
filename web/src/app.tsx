// SPDX-License-Identifier: MIT
// app: the frame around every page: which recording, which view, which filters.

import { render } from "preact";
import { useState } from "preact/hooks";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { filtersOf, formatAddress, go, useAddress, valueOf, type Address } from "./address";
import { useJson, type Command, type Meta, type Recording } from "./api";
import { FilterBar } from "./filter_bar";
import { formatDuration } from "./format";
import { setOrigin } from "./instants";
import { useLive } from "./live";
import { MenuHost } from "./menu";
import { Navigation, titleOf } from "./navigation";
import { Notes } from "./notes";
import { Notice } from "./notice";
import { Allocation } from "./pages/allocation";
import { CallTree } from "./pages/call_tree";
import { Callers } from "./pages/callers";
import { Diff } from "./pages/diff";
import { Flamegraph } from "./pages/flamegraph";
import { HeapMap } from "./pages/heap_map";
import { Lines } from "./pages/lines";
import { Mappings } from "./pages/mappings";
import { OneStack } from "./pages/one_stack";
import { Overview } from "./pages/overview";
import { Report } from "./pages/report";
import { Sql } from "./pages/sql";
import { ProcessChoice } from "./processes";
import { queryOf } from "./query";
import { choose, nextChoice, readSetting, showTheme, useSettings } from "./settings";
import { Sources } from "./sources";

export interface PageProps {
  readonly address: Address;
  readonly recording: Recording;
  readonly meta: Meta;
}

const PAGES: Record<string, (props: PageProps) => preact.JSX.Element | null> = {
  allocation: Allocation,
  callers: Callers,
  diff: Diff,
  flamegraph: Flamegraph,
  "heap-map": HeapMap,
  lines: Lines,
  mmaps: Mappings,
  overview: Overview,
  sql: Sql,
  stack: OneStack,
  tree: CallTree,
};

function Recordings({ meta, address }: { meta: Meta; address: Address }) {
  return (
    <select aria-label="recording" value={address.recording} onChange={(event) => go({ recording: event.currentTarget.value, view: address.view, parameters: [] })}>
      {meta.recordings.map((recording) => (
        <option key={recording.id} value={recording.id}>
          {recording.name}
          {recording.duration_ns !== null && `, ${formatDuration(recording.duration_ns)}`}
        </option>
      ))}
    </select>
  );
}

function SettingButton({ name, help }: { name: "theme" | "clock"; help: string }) {
  return (
    <button type="button" onClick={() => choose(name, nextChoice(name))} title={help}>
      {name === "theme" ? `colours: ${readSetting(name)}` : readSetting(name)}
    </button>
  );
}

function Page(props: PageProps) {
  const { address, meta } = props;
  const command = meta.commands.find((c) => c.name === address.view);
  const Special = PAGES[address.view];
  if (Special) return <Special {...props} key={address.recording} />;
  if (!command) return <p class="notice error" role="alert">There is no view "{address.view}".</p>;
  return <Report {...props} command={command} key={`${address.recording} ${address.view}`} />;
}

// Has the address all that the command needs?
function isAsked(address: Address, command: Command | undefined): command is Command {
  if (!command || command.name === "sql") return false;
  return command.name === "diff" ? valueOf(address, "with") === undefined : command.argument === null || valueOf(address, "argument") !== undefined;
}

function Heading({ address, meta, command }: { address: Address; meta: Meta; command: Command | undefined }) {
  return (
    <div class="heading">
      <h1>{titleOf(address.view)}</h1>
      {isAsked(address, command) && <Sources key={formatAddress({ ...address, parameters: filtersOf(address) })} address={address} command={command} query={queryOf(address, command)} meta={meta} />}
    </div>
  );
}

// As the server understands it: the recording that began last.
function lastOf(meta: Meta): Recording | undefined {
  return meta.recordings.reduce<Recording | undefined>((last, one) => ((one.start_unix_ns ?? 0) > (last?.start_unix_ns ?? -1) ? one : last), undefined);
}

// A link may have the short names of the command line, as `at`.
function withNames(address: Address, meta: Meta): Address {
  return { ...address, parameters: address.parameters.map(([name, value]) => [meta.filters.find((known) => known.alias?.replaceAll("-", "_") === name)?.name ?? name, value]) };
}

function App() {
  const [lastView, setLastView] = useState("");
  const address = useAddress();
  const settings = useSettings();
  const meta = useJson<Meta>("/api/v1");
  useLive(meta.data?.recordings.some((one) => one.is_growing) ?? false);
  if (!meta.data) return <Notice answer={meta} />;
  const last = lastOf(meta.data);
  if (last && (!address.recording || address.recording === "last")) {
    go({ ...address, recording: last.id }, "replace");
    return null;
  }
  const canonical = withNames(address, meta.data);
  if (formatAddress(canonical) !== formatAddress(address)) {
    go(canonical, "replace");
    return null;
  }
  const recording = meta.data.recordings.find((one) => one.id === address.recording);
  const command = meta.data.commands.find((c) => c.name === (address.view === "overview" ? "summary" : address.view));
  setOrigin(recording?.start_unix_ns ?? null);
  document.title = `${titleOf(address.view)}, ${recording?.name ?? "mtrace"}`;
  if (lastView !== address.view) {
    setLastView(address.view);
    scrollTo(0, 0);
  }
  return (
    <>
      <a class="skip" href="#main">
        skip to the answer
      </a>
      <header>
        <span class="brand">mtrace</span>
        <Recordings meta={meta.data} address={address} />
        {recording && <ProcessChoice address={address} recording={recording} />}
        {recording?.is_growing && (
          <span class="growing" role="status" title="its log is still written: what is shown moves; blocks one by one come at the end">
            ● recording, {formatDuration(recording.duration_ns ?? 0)}
          </span>
        )}
        <span class="version">{meta.data.version}</span>
        <SettingButton name="clock" help="how instants are written: since the start, UTC, or local time" />
        <SettingButton name="theme" help="dark, light, or as the system says" />
      </header>
      <div class="frame">
        <Navigation address={address} meta={meta.data} />
        <div class="content">
          <FilterBar meta={meta.data} address={address} />
          <main id="main" tabIndex={-1} key={settings}>
            <Heading address={address} meta={meta.data} command={command} />
            {recording && address.view !== "overview" && isAsked(address, command) && <Notes recording={recording.id} command={command.name} query={queryOf(address, command)} />}
            {recording ? <Page address={address} recording={recording} meta={meta.data} /> : <p class="notice error" role="alert">This server has no recording "{address.recording}".</p>}
          </main>
        </div>
      </div>
      <MenuHost />
    </>
  );
}

showTheme();
render(<App />, document.getElementById("app") as HTMLElement);
