// SPDX-License-Identifier: MIT
// mappings: what the program mapped by itself, beside what was resident over time.

import { go, valueOf, withValues } from "../address";
import { useSql } from "../api";
import type { PageProps } from "../app";
import { Chart } from "../chart";
import { number, useCurves, type Range } from "../curves";
import { formatBytes, formatCount } from "../format";
import { instantText } from "../instants";
import { openMenuAt } from "../menu";
import { Rows } from "./report";

export function Mappings({ address, meta }: PageProps) {
  const command = meta.commands.find((c) => c.name === "mmaps");
  const asked = valueOf(address, "process");
  const processes = useSql(address.recording, "SELECT process_id, start_ns, duration_ns FROM processes ORDER BY peak_bytes DESC");
  const process = processes.data?.find((row) => asked === undefined || String(row.process_id) === asked);
  const start = number(process, "start_ns");
  const range: Range = [start, start + number(process, "duration_ns")];
  const { charts } = useCurves(address.recording, number(process, "process_id"), []);
  const resident = charts.find((chart) => chart.title === "Resident memory");
  const kinds = useSql(
    address.recording,
    `SELECT coalesce(path, 'anonymous') AS what, count(*) AS pieces, sum(length) AS bytes, sum(peak_rss_bytes) AS resident FROM mmaps WHERE process_id = ${number(process, "process_id")} GROUP BY path ORDER BY bytes DESC LIMIT 8`,
  );
  return (
    <>
      {resident && (
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
            {row.what} <span class="where">{formatBytes(number(row, "bytes"))} in {formatCount(number(row, "pieces"))} pieces{row.resident === null ? "" : `, ${formatBytes(number(row, "resident"))} resident at most`}</span>
          </li>
        ))}
      </ul>
      {command && <Rows address={address} command={command} />}
    </>
  );
}
