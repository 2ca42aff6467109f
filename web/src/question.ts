// SPDX-License-Identifier: MIT
// question: what a command is asked, of all that the address has.

import { filtersOf, isFilter, valueOf, withValues, type Address, type Parameter } from "./address";
import type { Command } from "./api";
import { withInstant } from "./instant";

export function isAboutInstant(command: Command): boolean {
  return command.has_instant || command.name === "live";
}

// All that is in the address but what the command would refuse.
export function questionOf(address: Address, command: Command): Parameter[] {
  if (command.name === "diff") return diffQuestion(address);
  const asked = address.parameters.filter(([name]) => !PAGE_PARAMETERS.has(name) && (!isFilter(name) || command.filters !== "none" || name === "process"));
  return isAboutInstant(command) ? withInstant(asked, address) : asked;
}

// What only the pages understand.
const PAGE_PARAMETERS = new Set(["line", "before", "then", "with", "search", "statement", "show", "colour"]);

// Which instants are compared: those of the page's form, or those that a link has as the command line does; else the beginning and
// the end, without what starts and stops there.
export function comparedInstants(address: Address): readonly [before: string, after: string] {
  const [first, second] = address.parameters.filter(([name]) => name === "alive_at").map(([, value]) => value);
  return [valueOf(address, "before") ?? first ?? "10%", valueOf(address, "then") ?? second ?? (first === undefined ? "95%" : "end")];
}

export function diffQuestion(address: Address): Parameter[] {
  const instants = comparedInstants(address).map((at): Parameter => ["alive_at", at]);
  return [...instants, ...filtersOf(withValues(address, { alive_at: null }))];
}
