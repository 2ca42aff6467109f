// SPDX-License-Identifier: MIT
// app: the frame around every page: which recording, which view, which filters.

import { render } from "preact";
import { useState } from "preact/hooks";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { filtersOf, formatAddress, go, toView, useAddress, valueOf, type Address } from "./address";
import { apiAddress, useJson, useText, type Command, type Meta, type Recording } from "./api";
import { FilterBar } from "./filter_bar";
import { formatDuration } from "./format";
import { Link } from "./link";
import { Notice } from "./notice";
import { Callers } from "./pages/callers";
import { Diff } from "./pages/diff";
import { Flamegraph } from "./pages/flamegraph";
import { OneStack } from "./pages/one_stack";
import { Overview } from "./pages/overview";
import { HeapMap } from "./pages/picture";
import { questionOf, Report } from "./pages/report";
import { Sql } from "./pages/sql";
import { readTheme, setTheme, showTheme, type Theme } from "./theme";

// What the tabs show, in the order of a search: what was lost, what grows, who holds memory, who is busy, the rest.
const GROUPS: ReadonlyArray<readonly [title: string, views: readonly string[]]> = [
  ["", ["overview"]],
  ["leaks", ["leaks", "growth", "groups"]],
  ["memory", ["peak", "live", "flamegraph", "by-function", "by-module"]],
  ["churn", ["temporary", "hot", "reallocs", "flows", "threads"]],
  ["heaps", ["fragmentation", "pinning", "heap-map", "mmaps"]],
  ["sizes", ["size-histogram", "lifetime-histogram"]],
  ["blocks", ["allocations", "block", "allocation-failures", "mallopts"]],
  ["more", ["diff", "callers", "lines", "processes", "unwind-quality", "sql"]],
];

const PAGES: Record<string, (props: { address: Address }) => preact.JSX.Element | null> = {
  overview: Overview,
  flamegraph: Flamegraph,
  callers: Callers,
  diff: Diff,
  sql: Sql,
  stack: OneStack,
  "heap-map": HeapMap,
};

function Navigation({ address }: { address: Address }) {
  return (
    <nav class="views" aria-label="views">
      {GROUPS.map(([title, views]) => (
        <div key={title} class="view-group">
          {title && <span class="group-title">{title}</span>}
          {views.map((view) => (
            <Link key={view} to={toView(address, view)} current={address.view === view}>
              {view}
            </Link>
          ))}
        </div>
      ))}
    </nav>
  );
}

function Recordings({ meta, address }: { meta: Meta; address: Address }) {
  return (
    <select aria-label="recording" value={address.recording} onChange={(event) => go({ recording: event.currentTarget.value, view: "overview", parameters: [] })}>
      {meta.recordings.map((recording) => (
        <option key={recording.id} value={recording.id}>
          {recording.name}
          {recording.duration_ns !== null && `, ${formatDuration(recording.duration_ns)}`}
        </option>
      ))}
    </select>
  );
}

function ThemeButton() {
  const [theme, setChosen] = useState<Theme>(readTheme);
  const next: Theme = theme === "system" ? "dark" : theme === "dark" ? "light" : "system";
  const choose = () => {
    setTheme(next);
    setChosen(next);
  };
  return (
    <button type="button" onClick={choose} title="dark, light, or as the system says">
      {theme}
    </button>
  );
}

function quote(text: string): string {
  return /^[\w./,:@%=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// The same question for a terminal.
function commandOf(address: Address, command: Command, file: string): string {
  const argument = valueOf(address, "argument");
  const options = questionOf(address, command).filter(([name]) => name !== "argument");
  return ["mtrace-query", command.name, quote(file), ...(argument ? [quote(argument)] : []), ...options.map(([name, value]) => `--${name.replaceAll("_", "-")}=${quote(value)}`)].join(" ");
}

function Sources({ address, command, meta }: { address: Address; command: Command; meta: Meta }) {
  const [isOpen, setOpen] = useState(false);
  const sql = useText(isOpen ? apiAddress(address.recording, command.name, [...questionOf(address, command), ["show_sql", "yes"]]) : null);
  const file = meta.recordings.find((recording) => recording.id === address.recording)?.name ?? "run.db";
  return (
    <details class="sources" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>command and SQL of this view</summary>
      <pre>{commandOf(address, command, file)}</pre>
      {sql.data ? <pre>{sql.data}</pre> : <Notice answer={sql} />}
    </details>
  );
}

function Argument({ address, command }: { address: Address; command: Command }) {
  const value = valueOf(address, "argument") ?? "";
  const choose = (event: Event) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget as HTMLFormElement).get("argument") ?? "");
    go(toView(address, address.view, { argument: text || null }));
  };
  return (
    <form class="controls" onSubmit={choose} key={value}>
      <label>
        {command.argument?.toLowerCase()} <input name="argument" defaultValue={value} spellcheck={false} />
      </label>
      <button type="submit">show</button>
    </form>
  );
}

function Page({ address, meta }: { address: Address; meta: Meta }) {
  const command = meta.commands.find((c) => c.name === address.view);
  const Special = PAGES[address.view];
  if (Special) return <Special address={address} key={address.recording} />;
  if (!command) return <p class="notice error" role="alert">There is no view "{address.view}".</p>;
  const needsArgument = command.argument !== null && valueOf(address, "argument") === undefined;
  return (
    <>
      {command.argument && <Argument address={address} command={command} />}
      {!needsArgument && <Report address={address} command={command} key={`${address.recording} ${address.view}`} />}
    </>
  );
}

// As the server understands it: the recording that began last.
function lastOf(meta: Meta): Recording | undefined {
  return meta.recordings.reduce<Recording | undefined>((last, one) => ((one.start_unix_ns ?? 0) > (last?.start_unix_ns ?? -1) ? one : last), undefined);
}

function App() {
  const address = useAddress();
  const meta = useJson<Meta>("/api/v1");
  if (!meta.data) return <Notice answer={meta} />;
  const last = lastOf(meta.data);
  if (last && (!address.recording || address.recording === "last")) {
    go({ ...address, recording: last.id }, "replace");
    return null;
  }
  const known = meta.data.recordings.find((recording) => recording.id === address.recording);
  const command = meta.data.commands.find((c) => c.name === address.view);
  return (
    <>
      <a class="skip" href="#main">
        skip to the answer
      </a>
      <header>
        <span class="brand">mtrace</span>
        <Recordings meta={meta.data} address={address} />
        <span class="version">{meta.data.version}</span>
        <ThemeButton />
      </header>
      <Navigation address={address} />
      <FilterBar meta={meta.data} address={address} />
      <main id="main" tabIndex={-1}>
        <h1>{address.view}</h1>
        {known ? <Page address={address} meta={meta.data} /> : <p class="notice error" role="alert">This server has no recording "{address.recording}".</p>}
        {known && command && address.view !== "sql" && <Sources key={formatAddress({ ...address, parameters: filtersOf(address) })} address={address} command={command} meta={meta.data} />}
      </main>
    </>
  );
}

showTheme(readTheme());
render(<App />, document.getElementById("app") as HTMLElement);
