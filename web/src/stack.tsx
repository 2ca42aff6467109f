// SPDX-License-Identifier: MIT
// stack: the frames of one stack, innermost first, inlined ones marked; each name leads to what that function allocates.

import { toView, useAddress } from "./address";
import { useRows, useSql } from "./api";
import { baseName, formatBlocks, formatBytes, shortName } from "./format";
import { Link } from "./link";
import { Notice } from "./notice";
import { Place } from "./table";

export function Stack({ id }: { id: number }) {
  const address = useAddress();
  const answer = useRows(address.recording, "stack", [["argument", String(id)]]);
  if (!answer.data) return <Notice answer={answer} />;
  return (
    <ol class="stack" aria-label={`stack ${id}`}>
      {answer.data.map((frame, index) => (
        <li key={index} class={index > 0 && answer.data?.[index - 1]?.frame === frame.frame ? "inlined" : ""}>
          {frame.function ? (
            <Link to={toView(address, "callers", { argument: String(frame.function) })} title={String(frame.function)}>
              {shortName(String(frame.function))}
            </Link>
          ) : (
            <span class="function">{frame.module ? `${baseName(String(frame.module))}+0x${Number(frame.object_offset).toString(16)}` : "?"}</span>
          )}{" "}
          {frame.source !== null && (
            <Link class="where" to={toView(address, "lines", { argument: String(frame.source), line: String(frame.line ?? 1) })} title={String(frame.source)}>
              {baseName(String(frame.source))}:{frame.line}
            </Link>
          )}
          {frame.source === null && frame.module !== null && <span class="where">{baseName(String(frame.module))}</span>}
        </li>
      ))}
    </ol>
  );
}

// Where blocks of this stack are freed: what the leaked ones missed.
export function Freed({ id }: { id: number }) {
  const address = useAddress();
  const answer = useSql(
    address.recording,
    `SELECT sum(f.blocks) AS blocks, sum(f.bytes) AS bytes, f.free_backtrace_id AS stack, s.function, s.source, s.line, s.module
FROM processes AS p CROSS JOIN free_sites AS f ON f.process_id = p.process_id LEFT JOIN backtraces AS b ON b.backtrace_id = f.free_backtrace_id LEFT JOIN sites AS s ON s.call_site_id = b.call_site_id
WHERE f.backtrace_id = ${id} GROUP BY f.free_backtrace_id ORDER BY 1 DESC LIMIT 4`,
  );
  if (!answer.data) return <Notice answer={answer} />;
  if (answer.data.length === 0) return <p class="hint">None of its blocks is freed by free, or frees have no stacks in this recording.</p>;
  return (
    <div class="freed">
      <p class="hint">Others are freed in</p>
      <ul>
        {answer.data.map((row) => (
          <li key={row.stack}>
            {row.stack === 0 ? (
              "stacks that are not told apart"
            ) : (
              <Link to={toView(address, "stack", { argument: String(row.stack) })}>
                <Place row={row} />
              </Link>
            )}{" "}
            {formatBlocks(Number(row.blocks))}, {formatBytes(Number(row.bytes))}
          </li>
        ))}
      </ul>
    </div>
  );
}
