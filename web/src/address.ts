// SPDX-License-Identifier: MIT
// address: the address determines what the screen shows, so every view is a link, and "back" goes back.
//
// /view/RECORDING/NAME?PARAMETERS: the parameters and their names are those of mtrace-query. A parameter may be repeated.

import { useEffect, useState } from "preact/hooks";

export type Parameter = readonly [name: string, value: string];

export interface Address {
  readonly recording: string; // "": none was chosen
  readonly view: string;
  readonly parameters: readonly Parameter[];
}

// Parameters of one view only: the next view drops them. All others are filters.
const VIEW_PARAMETERS = new Set(["argument", "line", "sort_by", "order", "count", "skip", "measure", "by", "bottom_up", "min_share", "statement", "show", "search", "colour", "before", "then", "with", "after"]);

export function parseAddress(location: Pick<Location, "pathname" | "search">): Address {
  const [, , recording = "", view = ""] = location.pathname.split("/").map(decodeURIComponent);
  return { recording, view: view || "overview", parameters: [...new URLSearchParams(location.search)] };
}

export function formatAddress(address: Address): string {
  const query = new URLSearchParams(address.parameters.map(([name, value]) => [name, value])).toString();
  return `/view/${encodeURIComponent(address.recording)}/${encodeURIComponent(address.view)}${query ? "?" + query : ""}`;
}

export function valueOf(address: Address, name: string): string | undefined {
  return address.parameters.find(([n]) => n === name)?.[1];
}

export function isFilter(name: string): boolean {
  return !VIEW_PARAMETERS.has(name);
}

export function filtersOf(address: Address): Parameter[] {
  return address.parameters.filter(([name]) => isFilter(name));
}

// The address with other values of some parameters; null removes a parameter.
export function withValues(address: Address, values: Record<string, string | null>): Address {
  const kept = address.parameters.filter(([name]) => !(name in values));
  const added = Object.entries(values).filter((pair): pair is [string, string] => pair[1] !== null);
  return { ...address, parameters: [...kept, ...added] };
}

export function withoutParameter(address: Address, parameter: Parameter): Address {
  return { ...address, parameters: address.parameters.filter((p) => p !== parameter) };
}

// Another view of the same recording under the same filters.
export function toView(address: Address, view: string, values: Record<string, string | null> = {}): Address {
  return withValues({ ...address, view, parameters: filtersOf(address) }, values);
}

let listeners: Array<() => void> = [];

export function go(address: Address, how: "push" | "replace" = "push"): void {
  const text = formatAddress(address);
  if (text === location.pathname + location.search) return;
  if (how === "push") history.pushState(null, "", text);
  else history.replaceState(null, "", text);
  listeners.forEach((notify) => notify());
}

window.addEventListener("popstate", () => listeners.forEach((notify) => notify()));

export function useAddress(): Address {
  const [address, setAddress] = useState(() => parseAddress(location));
  useEffect(() => {
    const notify = () => setAddress(parseAddress(location));
    listeners = [...listeners, notify];
    return () => {
      listeners = listeners.filter((l) => l !== notify);
    };
  }, []);
  return address;
}
