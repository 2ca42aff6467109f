// SPDX-License-Identifier: MIT
// mappings: what the program mapped by itself, beside what was resident over time.

import { go, withValues } from "../address";
import { useSql } from "../api";
import type { PageProps } from "../app";
import { Chart } from "../chart";
import { number, useCurves, type Range } from "../curves";
import { formatBytes, formatCount } from "../format";
import { instantText } from "../instants";
import { openMenuAt } from "../menu";
import { ofShown, ShownProcess, useProcesses } from "../processes";
import { Rows } from "./report";

export function Mappings({ address, meta, recording }: PageProps) {
  const command = meta.commands.find((c) => c.name === "mmaps");
  const processes = useProcesses(address, recording);
  const process = processes.shown;
  const start = number(process, "start_ns");
  const range: Range = [start, start + number(process, "duration_ns")];
  const { charts } = useCurves(address.recording, recording.is_growing, Number(processes.id), []);
  const resident = charts.find((chart) => chart.title === "Resident memory");
  const kinds = useSql(
    address.recording,
    `SELECT coalesce(path, 'anonymous') AS what, count(*) AS pieces, sum(length) AS bytes, sum(peak_rss_bytes) AS resident FROM mmaps WHERE process_id = ${Number(processes.id)} GROUP BY path ORDER BY bytes DESC LIMIT 8`,
  );
  return (
    <>
      <ShownProcess address={address} processes={processes} />
      {resident && process && (
        <Chart
          {...resident}
          range={range}
          onSelect={(from, to) => go(withValues(address, { from: instantText(from), to: instantText(to) }))}
          onInstant={(at) => openMenuAt(document.querySelector(".chart") as Element, "then", [["who is alive then", { ...address, view: "live", parameters: [["alive_at", instantText(at)]] }]])}
        />
      )}
      <ul class="choices">
        {(kinds.data ?? []).map((row) => (
          <li key={row.what}>
            {row.what} <span class="where">{formatBytes(number(row, "bytes"))} in {formatCount(number(row, "pieces"))} {row.pieces === 1 ? "piece" : "pieces"}{row.resident === null ? "" : `, ${formatBytes(number(row, "resident"))} resident at most`}</span>
          </li>
        ))}
      </ul>
      {command && <Rows address={ofShown(address, recording, processes)} command={command} />}
    </>
  );
}
