// SPDX-License-Identifier: MIT
// flame_canvas: a flame graph drawn on a canvas, root on top. Of each row only the boxes within the zoom are looked at, found by
// bisection. Boxes are written as pixels, one line of them for each row, which is then stretched to the row's height: a call of the
// canvas for each of 100,000 boxes would take twenty times a frame. The box under the mouse is an element above the canvas.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { faded, fromHex, type Pixel } from "./colours";
import { fieldsOf, matchedShare, type FlameFields, type FlameNode, type Found, type Unit } from "./flame";
import { baseName, formatBlocks, formatBytes, formatShare, shortName } from "./format";

const ROW_PIXELS = 18;
const TEXT_PIXELS = 30; // narrower boxes have no name

interface FlameCanvasProps {
  nodes: readonly FlameNode[];
  unit: Unit;
  search: string;
  label: string;
  onOpen: (node: FlameNode, x: number, y: number) => void;
}

interface Row {
  readonly nodes: readonly FlameNode[];
  readonly fields: FlameFields;
}

// The boxes of each depth from left to right.
function rowsOf(nodes: readonly FlameNode[]): Row[] {
  const rows: FlameNode[][] = [];
  for (const node of nodes) (rows[node.depth] ??= []).push(node);
  return rows.map((row) => {
    row.sort((a, b) => a.start - b.start);
    return { nodes: row, fields: fieldsOf(row) };
  });
}

// The first box of a row that ends behind `at`.
function firstBehind({ fields: { end } }: Row, at: number): number {
  let [low, high] = [0, end.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((end[middle] as number) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function titleOf(node: FlameNode): string {
  return node.name ? shortName(node.name) : node.module ? baseName(node.module) : "?";
}

export function amountText(unit: Unit, value: number): string {
  return unit === "bytes" ? formatBytes(value) : formatBlocks(value);
}

function changeText(unit: Unit, change: number): string {
  return change === 0 ? ", unchanged" : `, ${change > 0 ? "+" : "−"}${amountText(unit, Math.abs(change))}`;
}

function Line({ node, all, unit, share, onAll }: { node: FlameNode; all: number; unit: Unit; share: number | null; onAll: (() => void) | null }) {
  return (
    <p class="flame-line" role="status">
      <strong>{node.name || titleOf(node)}</strong> {node.module && <span class="where">{baseName(node.module)}</span>} {amountText(unit, node.value)}, {formatShare(node.value / (all || 1))}
      {node.change !== null && changeText(unit, node.change)}
      {share !== null && <span class="matched"> matched {formatShare(share)}</span>}{" "}
      {onAll && (
        <button type="button" onClick={onAll}>
          show all
        </button>
      )}
    </p>
  );
}

export function FlameCanvas({ nodes, unit, search, label, onOpen }: FlameCanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [focus, setFocus] = useState(0); // index of the node that has the whole width
  const [hover, setHover] = useState<FlameNode | undefined>();
  const [width, setWidth] = useState(0); // of the canvas, in pixels of the page; 0: not known yet
  const rows = useMemo(() => rowsOf(nodes), [nodes]);
  const regex = useMemo(() => makeRegex(search), [search]);
  const fields = useMemo(() => fieldsOf(nodes), [nodes]);
  const found = useMemo(() => (regex ? Uint8Array.from(fields.kinds, (node) => Number(regex.test(node.name) || regex.test(node.module))) : null), [fields, regex]);
  const share = useMemo(() => (found ? matchedShare(fields, found) : null), [fields, found]);
  const root = nodes[focus] ?? nodes[0];

  useEffect(() => {
    setFocus(0);
    setHover(undefined);
  }, [nodes]);
  useEffect(() => {
    const box = canvas.current?.parentElement;
    if (!box) return undefined;
    const resize = new ResizeObserver(() => setWidth(box.clientWidth));
    resize.observe(box);
    return () => resize.disconnect();
  }, []);
  useEffect(() => {
    const element = canvas.current;
    if (!element || !root || width === 0) return undefined;
    const frame = requestAnimationFrame(() => paint(element, width, rows, root, found));
    return () => cancelAnimationFrame(frame);
  }, [rows, root, found, width]);

  const nodeAt = (event: MouseEvent): FlameNode | undefined => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const row = rows[Math.floor((event.clientY - box.top) / ROW_PIXELS)];
    if (!root || !row) return undefined;
    const at = root.start + ((event.clientX - box.left) / box.width) * root.value;
    const node = row.nodes[firstBehind(row, at)];
    return node && node.start <= at ? node : undefined;
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape" || event.key === "ArrowUp") setFocus(event.key === "Escape" ? 0 : Math.max(0, root?.parent ?? 0));
    else if (event.key === "ArrowDown") setFocus(heaviestChild(nodes, focus));
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") setFocus(sibling(nodes, focus, event.key === "ArrowLeft" ? -1 : 1));
    else if (event.key === "Enter" && root) {
      const box = (event.currentTarget as Element).getBoundingClientRect();
      onOpen(root, box.left + 20, box.top + (root.depth + 1) * ROW_PIXELS);
    } else return;
    event.preventDefault();
  };
  return (
    <div class="flame">
      {root && <Line node={hover ?? root} all={nodes[0]?.value ?? 1} unit={unit} share={share} onAll={focus === 0 ? null : () => setFocus(0)} />}
      <div class="flame-box">
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label={`${label}; arrow keys walk to the heaviest callee, the caller and the neighbours, Enter opens what can be done, Escape shows all`}
          onMouseMove={(event) => setHover(nodeAt(event))}
          onMouseLeave={() => setHover(undefined)}
          onClick={(event) => {
            const node = nodeAt(event);
            if (node) setFocus(nodes.indexOf(node));
          }}
          onContextMenu={(event) => {
            const node = nodeAt(event);
            event.preventDefault();
            if (node) onOpen(node, event.clientX, event.clientY);
          }}
          onKeyDown={press}
        />
        {hover && root && <div class="flame-hover" style={hoverStyle(hover, root)} />}
      </div>
    </div>
  );
}

function hoverStyle(node: FlameNode, root: FlameNode): Record<string, string> {
  const left = Math.max(0, (node.start - root.start) / root.value);
  const right = Math.min(1, (node.start + node.value - root.start) / root.value);
  return { left: `${left * 100}%`, width: `${(right - left) * 100}%`, top: `${node.depth * ROW_PIXELS}px`, height: `${ROW_PIXELS - 1}px` };
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

function sibling(nodes: readonly FlameNode[], of: number, by: number): number {
  const parent = nodes[of]?.parent ?? -1;
  const all = nodes.flatMap((node, index) => (node.parent === parent ? [index] : []));
  return all[all.indexOf(of) + by] ?? of;
}

interface Pen {
  readonly scale: number; // device pixels of a unit
  readonly width: number; // device pixels
  readonly root: FlameNode;
  readonly found: Found | null;
  readonly match: Pixel;
}

interface Label {
  readonly node: FlameNode;
  readonly left: number; // device pixels
  readonly right: number;
}

const boxes = document.createElement("canvas"); // a pixel high for each row

function paint(element: HTMLCanvasElement, pageWidth: number, rows: readonly Row[], root: FlameNode, found: Found | null): void {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(pageWidth * ratio));
  const height = Math.round(rows.length * ROW_PIXELS * ratio);
  const [context, lines] = [element.getContext("2d"), boxes.getContext("2d")];
  if (!context || !lines) return;
  if (element.width !== width || element.height !== height) {
    [element.width, element.height] = [width, height];
    element.style.height = `${rows.length * ROW_PIXELS}px`;
  }
  [boxes.width, boxes.height] = [width, rows.length];
  const style = getComputedStyle(document.documentElement);
  const pen: Pen = { scale: width / (root.value || 1), width, root, found, match: fromHex(style.getPropertyValue("--match")) };
  const image = lines.createImageData(width, rows.length);
  const pixels = new Uint32Array(image.data.buffer);
  const labels = rows.map((row, depth) => putRow(pen, row, depth < root.depth, pixels.subarray(depth * width, (depth + 1) * width), TEXT_PIXELS * ratio));
  lines.putImageData(image, 0, 0);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  context.imageSmoothingEnabled = false;
  context.drawImage(boxes, 0, 0, width, rows.length, 0, 0, width, height);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  rows.forEach((_, depth) => context.clearRect(0, (depth + 1) * ROW_PIXELS - 1, width / ratio, 1));
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const text = style.getPropertyValue("--text");
  labels.forEach((row, depth) => row.forEach((label) => write(context, label, depth, ratio, found?.[label.node.kind] ? "#000" : text)));
}

// Writes the boxes of a row, and tells which are wide enough for a name. Of many boxes in one pixel the first is seen, or one that
// is found.
function putRow({ root, scale, width, found, match }: Pen, row: Row, isAbove: boolean, pixels: Uint32Array, labelWidth: number): Label[] {
  const { start, end, kind, colour } = row.fields;
  const labels: Label[] = [];
  let drawn = 0; // pixels before this one are taken
  for (let i = firstBehind(row, root.start); i < start.length && (start[i] as number) < root.start + root.value; i++) {
    const left = Math.max(0, Math.round(((start[i] as number) - root.start) * scale));
    const right = Math.min(width, Math.max(left + 1, Math.round(((end[i] as number) - root.start) * scale)));
    const isFound = found !== null && found[kind[i] as number] === 1;
    if (right <= drawn && !isFound) continue;
    const shown = isFound ? match : (colour[i] as number);
    pixels.fill(isAbove ? faded(shown) : shown, left, right - left > 3 ? right - 1 : right);
    drawn = right;
    if (right - left >= labelWidth) labels.push({ node: row.nodes[i] as FlameNode, left, right });
  }
  return labels;
}

function write(context: CanvasRenderingContext2D, { node, left, right }: Label, depth: number, ratio: number, colour: string): void {
  context.fillStyle = colour;
  context.fillText(fit(titleOf(node), (right - left) / ratio - 8), left / ratio + 4, depth * ROW_PIXELS + ROW_PIXELS / 2);
}

// By a mean width of letters: measuring each name would take longer than drawing.
function fit(name: string, pixels: number): string {
  const n = Math.floor(pixels / 6.4);
  return name.length <= n ? name : n > 2 ? name.slice(0, n - 1) + "…" : "";
}
