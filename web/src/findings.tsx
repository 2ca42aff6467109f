// SPDX-License-Identifier: MIT
// findings: what to look at first, as the summary of mtrace-query says it. Each links to the view one level deeper and to its SQL.

import { valueOf, type Address } from "./address";
import { Link } from "./link";

export interface Finding {
  readonly severity: "critical" | "warning" | "info";
  readonly sentence: string;
  readonly bytes: number | null;
  readonly blocks: number | null;
  readonly command: string;
  readonly page: string; // below the recording: "leaks?process=1"
  readonly sql: string;
}

// The address has only the parameters of the finding's page, none of the filters in use.
function pageOf(address: Address, finding: Finding): Address {
  const [view = "", parameters] = finding.page.split("?");
  return { recording: address.recording, view, parameters: [...new URLSearchParams(parameters)] };
}

function sqlOf(page: Address, finding: Finding): Address {
  return { ...page, view: "sql", parameters: [["process", valueOf(page, "process") ?? "1"], ["statement", finding.sql]] };
}

export function Findings({ address, findings }: { address: Address; findings: readonly Finding[] }) {
  if (findings.length === 0) return null;
  return (
    <section aria-label="findings">
      <h2>What to look at</h2>
      <ol class="findings">
        {findings.map((finding) => {
          const page = pageOf(address, finding);
          return (
            <li key={finding.sentence} class={finding.severity}>
              <strong>{finding.severity}</strong> <span>{finding.sentence}</span>{" "}
              <Link to={page} title={finding.command}>
                {page.view.replaceAll("-", " ")} →
              </Link>
              <Link to={sqlOf(page, finding)} title={finding.sql}>
                SQL →
              </Link>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
