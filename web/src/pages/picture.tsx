// SPDX-License-Identifier: MIT
// picture: an SVG that the server draws, as the heap map, in a frame of its own.

import { filtersOf, type Address } from "../address";
import { apiAddress } from "../api";
import { InstantForm, instantOf, withInstant } from "../instant";

export function HeapMap({ address }: { address: Address }) {
  const process = filtersOf(address).filter(([name]) => name === "process");
  return (
    <section>
      <InstantForm address={address} />
      <iframe class="picture" title={`the heaps at ${instantOf(address)}`} sandbox="allow-scripts" src={apiAddress(address.recording, "heap-map", withInstant(process, address))} />
    </section>
  );
}
