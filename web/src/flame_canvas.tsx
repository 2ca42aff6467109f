// SPDX-License-Identifier: MIT
// flame_canvas: a flame graph drawn on a canvas, root on top: only boxes wider than half a pixel are touched.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { colourOf, matchedShare, type FlameNode } from "./flame";
import { baseName, formatBytes, formatCount, formatShare, shortName } from "./format";
import { isDark } from "./theme";

const ROW_PIXELS = 18;

interface FlameCanvasProps {
  nodes: readonly FlameNode[];
  unit: "bytes" | "blocks";
  search: string;
  label: string;
  onOpen: (node: FlameNode) => void;
}

// The boxes of each depth from left to right: what is under the mouse is found by bisection.
function rowsOf(nodes: readonly FlameNode[]): FlameNode[][] {
  const rows: FlameNode[][] = [];
  for (const node of nodes) (rows[node.depth] ??= []).push(node);
  rows.forEach((row) => row.sort((a, b) => a.start - b.start));
  return rows;
}

function findAt(row: readonly FlameNode[] | undefined, at: number): FlameNode | undefined {
  let [low, high] = [0, (row?.length ?? 0) - 1];
  while (row && low <= high) {
    const middle = (low + high) >> 1;
    const node = row[middle] as FlameNode;
    if (at < node.start) high = middle - 1;
    else if (at >= node.start + node.value) low = middle + 1;
    else return node;
  }
  return undefined;
}

function titleOf(node: FlameNode): string {
  return node.name ? shortName(node.name) : node.module ? baseName(node.module) : "?";
}

export function FlameCanvas({ nodes, unit, search, label, onOpen }: FlameCanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [focus, setFocus] = useState(0); // index of the node that has the whole width
  const [hover, setHover] = useState<FlameNode | undefined>();
  const rows = useMemo(() => rowsOf(nodes), [nodes]);
  const regex = useMemo(() => makeRegex(search), [search]);
  const isMatch = (node: FlameNode) => regex !== null && (regex.test(node.name) || regex.test(node.module));
  const share = useMemo(() => (regex ? matchedShare(nodes, isMatch) : null), [nodes, regex]);
  const root = nodes[focus] ?? nodes[0];

  useEffect(() => setFocus(0), [nodes]);
  useEffect(() => {
    const element = canvas.current;
    if (!element || !root) return undefined;
    const draw = () => paint(element, rows, root, regex ? isMatch : null, hover);
    const frame = requestAnimationFrame(draw);
    const resize = new ResizeObserver(draw);
    resize.observe(element.parentElement as Element);
    return () => {
      cancelAnimationFrame(frame);
      resize.disconnect();
    };
  }, [rows, root, regex, hover]);

  const nodeAt = (event: MouseEvent): FlameNode | undefined => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    if (!root) return undefined;
    const at = root.start + ((event.clientX - box.left) / box.width) * root.value;
    return findAt(rows[Math.floor((event.clientY - box.top) / ROW_PIXELS)], at);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape" || event.key === "ArrowUp") setFocus(event.key === "Escape" ? 0 : Math.max(0, root?.parent ?? 0));
    else if (event.key === "ArrowDown") setFocus(heaviestChild(nodes, focus));
    else if (event.key === "Enter" && root) onOpen(root);
    else return;
    event.preventDefault();
  };
  const shown = hover ?? root;
  const all = nodes[0]?.value ?? 1;
  return (
    <div class="flame">
      <p class="flame-line" aria-live="polite">
        {shown && (
          <>
            <strong>{shown.name || titleOf(shown)}</strong> {shown.module && <span class="where">{baseName(shown.module)}</span>}{" "}
            {unit === "bytes" ? formatBytes(shown.value) : `${formatCount(shown.value)} blocks`}, {formatShare(shown.value / all)}
          </>
        )}
        {share !== null && <span class="matched"> matched {formatShare(share)}</span>}
        {focus !== 0 && (
          <button type="button" onClick={() => setFocus(0)}>
            show all
          </button>
        )}
      </p>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`${label}; arrow keys walk along the heaviest path, Enter opens a function, Escape shows all`}
        onMouseMove={(event) => setHover(nodeAt(event))}
        onMouseLeave={() => setHover(undefined)}
        onClick={(event) => {
          const node = nodeAt(event);
          if (node) setFocus(nodes.indexOf(node));
        }}
        onDblClick={(event) => {
          const node = nodeAt(event);
          if (node) onOpen(node);
        }}
        onKeyDown={press}
      />
    </div>
  );
}

function makeRegex(search: string): RegExp | null {
  if (!search) return null;
  try {
    return new RegExp(search, "i");
  } catch {
    return new RegExp(search.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  }
}

function heaviestChild(nodes: readonly FlameNode[], of: number): number {
  let best = of;
  nodes.forEach((node, index) => {
    if (node.parent === of && (best === of || node.value > (nodes[best]?.value ?? 0))) best = index;
  });
  return best;
}

function paint(element: HTMLCanvasElement, rows: readonly FlameNode[][], root: FlameNode, isMatch: ((node: FlameNode) => boolean) | null, hover: FlameNode | undefined): void {
  const width = element.parentElement?.clientWidth ?? 800;
  const height = rows.length * ROW_PIXELS;
  const ratio = window.devicePixelRatio || 1;
  const context = element.getContext("2d");
  if (!context) return;
  if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
    element.style.height = `${height}px`;
  }
  const style = getComputedStyle(document.documentElement);
  const [text, matchColour] = [style.getPropertyValue("--text"), style.getPropertyValue("--match")];
  const dark = isDark();
  const scale = width / (root.value || 1);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const end = root.start + root.value;
  rows.forEach((row, depth) => {
    for (const node of row) {
      if (node.start + node.value <= root.start || node.start >= end || node.value * scale < 0.5) continue;
      const left = Math.max(0, (node.start - root.start) * scale);
      const right = Math.min(width, (node.start + node.value - root.start) * scale);
      context.globalAlpha = depth < root.depth ? 0.5 : 1;
      context.fillStyle = isMatch?.(node) ? matchColour : colourOf(node, dark);
      context.fillRect(left, depth * ROW_PIXELS, Math.max(0.5, right - left - 0.5), ROW_PIXELS - 1);
      if (node === hover) {
        context.strokeStyle = text;
        context.strokeRect(left + 0.5, depth * ROW_PIXELS + 0.5, right - left - 1, ROW_PIXELS - 2);
      }
      if (right - left < 30) continue;
      context.fillStyle = isMatch?.(node) ? "#000" : text;
      context.fillText(fit(titleOf(node), right - left - 8), left + 4, depth * ROW_PIXELS + ROW_PIXELS / 2);
    }
  });
  context.globalAlpha = 1;
}

// By a mean width of letters: measuring each name would take longer than drawing.
function fit(name: string, pixels: number): string {
  const n = Math.floor(pixels / 6.4);
  return name.length <= n ? name : n > 2 ? name.slice(0, n - 1) + "…" : "";
}
