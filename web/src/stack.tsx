// SPDX-License-Identifier: MIT
// stack: the frames of one stack, innermost first, inlined ones marked; each name leads to what that function allocates.

import { toView, useAddress } from "./address";
import { useRows } from "./api";
import { baseName, shortName } from "./format";
import { Link } from "./link";
import { Notice } from "./notice";

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
            <Link class="where" to={toView(address, "lines", { argument: String(frame.source) })} title={String(frame.source)}>
              {baseName(String(frame.source))}:{frame.line}
            </Link>
          )}
          {frame.source === null && frame.module !== null && <span class="where">{baseName(String(frame.module))}</span>}
        </li>
      ))}
    </ol>
  );
}
