// SPDX-License-Identifier: MIT
// link: an anchor that goes to another address of ours without loading the page again.

import type { ComponentChildren } from "preact";
import { formatAddress, go, type Address } from "./address";

interface LinkProps {
  to: Address;
  class?: string;
  title?: string;
  current?: boolean;
  children: ComponentChildren;
}

export function Link({ to, current, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={formatAddress(to)} onClick={follow} aria-current={current ? "page" : undefined} {...rest}>
      {children}
    </a>
  );
}
