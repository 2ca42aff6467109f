// SPDX-License-Identifier: MIT
// query: selects the parameters of the address that a command receives.

import { filtersOf, isFilter, valueOf, withValues, type Address, type Parameter } from "./address";
import type { Command } from "./api";
import { withInstant } from "./instant";

export function isAboutInstant(command: Command): boolean {
  return command.has_instant || command.name === "live";
}

// The parameters of the address, except those that the command would refuse.
export function queryOf(address: Address, command: Command): Parameter[] {
  if (command.name === "diff") return diffQuery(address);
  const asked = address.parameters.filter(([name]) => !PAGE_PARAMETERS.has(name) && (!isFilter(name) || command.filters !== "none" || name === "process"));
  return isAboutInstant(command) ? withInstant(asked, address) : asked;
}

// Parameters that only the pages use.
const PAGE_PARAMETERS = new Set(["line", "before", "then", "with", "search", "statement", "show", "colour"]);

// The times to compare: from the form of the page, or from a link with the parameters of the command line. By default they are near
// the start and the end, without the work of starting and stopping.
export function comparedInstants(address: Address): readonly [before: string, after: string] {
  const [first, second] = address.parameters.filter(([name]) => name === "alive_at").map(([, value]) => value);
  return [valueOf(address, "before") ?? first ?? "10%", valueOf(address, "then") ?? second ?? (first === undefined ? "95%" : "end")];
}

export function diffQuery(address: Address): Parameter[] {
  const instants = comparedInstants(address).map((at): Parameter => ["alive_at", at]);
  return [...instants, ...filtersOf(withValues(address, { alive_at: null }))];
}
