// SPDX-License-Identifier: MIT
// question: what a command is asked, of all that the address has.

import { isFilter, type Address, type Parameter } from "./address";
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

export function diffQuestion(address: Address): Parameter[] {
  const instants = address.parameters.flatMap(([name, value]): Parameter[] => (name === "before" || name === "then" ? [["alive_at", value]] : []));
  return [...instants, ...address.parameters.filter(([name]) => isFilter(name) && name !== "alive_at")];
}
