// SPDX-License-Identifier: MIT
// one_stack: a stack by its id, and what was allocated with it.

import { toView, valueOf } from "../address";
import type { PageProps } from "../app";
import { ArgumentForm } from "../argument";
import { Link } from "../link";
import { Freed, Stack } from "../stack";

export function OneStack({ address }: PageProps) {
  const id = Number(valueOf(address, "argument"));
  if (!Number.isInteger(id) || id <= 0) return <ArgumentForm address={address} label="number of a stack" />;
  return (
    <section>
      <h2>Stack {id}</h2>
      <Stack id={id} />
      <Freed id={id} />
      <p>
        <Link to={toView(address, "allocations", { backtrace: String(id) })}>blocks that were allocated here</Link>
      </p>
    </section>
  );
}
