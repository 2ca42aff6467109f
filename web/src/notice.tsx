// SPDX-License-Identifier: MIT
// notice: what stands in place of an answer while there is none.

import type { Answer } from "./api";

export function Notice({ answer, empty }: { answer: Answer<unknown>; empty?: string }) {
  if (answer.error !== undefined)
    return (
      <p class="notice error" role="alert">
        {answer.error}
      </p>
    );
  if (answer.isLoading)
    return (
      <p class="notice" role="status">
        asking…
      </p>
    );
  return empty ? (
    <p class="notice" role="status">
      {empty}
    </p>
  ) : null;
}
