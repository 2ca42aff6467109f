// SPDX-License-Identifier: MIT
// live: while the log of a recording is still written, the server says when there is more, and all that is shown is asked anew.

import { useEffect } from "preact/hooks";
import { tellChange } from "./api";

export function useLive(isGrowing: boolean): void {
  useEffect(() => {
    if (!isGrowing) return undefined;
    const events = new EventSource("/api/v1/events");
    let isFirst = true; // says how things stand, which the page has just been told
    events.addEventListener("data", () => {
      if (!isFirst) tellChange();
      isFirst = false;
    });
    events.addEventListener("end", tellChange);
    return () => events.close();
  }, [isGrowing]);
}
