// SPDX-License-Identifier: MIT
// one_stack: a stack by its id, and what was allocated with it.

import { toView, valueOf, type Address } from "../address";
import { Link } from "../link";
import { Stack } from "../stack";

export function OneStack({ address }: { address: Address }) {
  const id = Number(valueOf(address, "argument"));
  if (!Number.isInteger(id) || id <= 0) return <p class="notice">A stack has a number: unfold a row of a report, or follow its column "stack".</p>;
  return (
    <section>
      <h2>Stack {id}</h2>
      <Stack id={id} />
      <p>
        <Link to={toView(address, "allocations", { backtrace: String(id) })}>blocks that were allocated here</Link>
      </p>
    </section>
  );
}
