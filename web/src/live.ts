// SPDX-License-Identifier: MIT
// live: while the log of a recording is still written, the server reports new data, and the page requests everything again.

import { useEffect } from "preact/hooks";
import { notifyChange } from "./api";

export function useLive(isGrowing: boolean): void {
  useEffect(() => {
    if (!isGrowing) return undefined;
    const events = new EventSource("/api/v1/events");
    let isFirst = true; // the first event repeats the state that the page has just loaded
    events.addEventListener("data", () => {
      if (!isFirst) notifyChange();
      isFirst = false;
    });
    events.addEventListener("end", notifyChange);
    return () => events.close();
  }, [isGrowing]);
}
