// SPDX-License-Identifier: MIT
// chart: curves over one range of time, all with one cursor. Dragging, or "[" and "]" at the cursor, select a range; a right
// click, or Enter at the cursor, opens what can be asked of an instant.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { formatBytes, formatCount } from "./format";
import { formatInstants } from "./instants";

export interface Curve {
  readonly label: string;
  readonly values: ReadonlyArray<number | null>;
  readonly colour: string; // a CSS variable's name
  readonly isFilled?: boolean;
}

export interface ChartProps {
  readonly title: string;
  readonly help: string;
  readonly timesNs: readonly number[];
  readonly curves: readonly Curve[];
  readonly unit: "bytes" | "count" | "per_s";
  readonly steps?: "before" | "after"; // a value holds for the time before, or after, its instant
}

interface ChartUse {
  readonly range: readonly [fromNs: number, toNs: number];
  readonly onSelect: (fromNs: number, toNs: number) => void;
  readonly onInstant: (atNs: number, x: number, y: number) => void;
}

const CURSOR = uPlot.sync("time");
const HEIGHT = 112;

export function formatValue(unit: ChartProps["unit"], value: number | null): string {
  if (value === null || value === undefined) return "–";
  if (unit === "bytes") return formatBytes(value);
  const short = Math.abs(value) >= 1e6 ? `${(value / 1e6).toFixed(1)} M` : formatCount(Math.round(value));
  return unit === "per_s" ? `${short}/s` : short;
}

function colourOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axis(values: (self: uPlot, splits: number[]) => string[], size: number, incrs?: number[], space = 28): uPlot.Axis {
  return { stroke: () => colourOf("--quiet"), grid: { stroke: () => colourOf("--line"), width: 1 }, ticks: { show: false }, values, size, font: "12px system-ui", space, ...(incrs ? { incrs } : {}) };
}

// Steps of 1, 2, 4 … 512 of each unit: curves of bytes have round figures beside them.
const BYTE_STEPS = Array.from({ length: 50 }, (_, power) => 2 ** power);
// There is no half of a block, nor of a nanosecond; and what is rounded stays even.
const WHOLE_STEPS = Array.from({ length: 45 }, (_, index) => [1, 2, 5][index % 3]! * 10 ** Math.floor(index / 3));

function legend(props: ChartProps): uPlot.Series[] {
  return props.curves.map((curve) => ({
    label: curve.label,
    stroke: () => colourOf(curve.colour),
    fill: curve.isFilled ? () => colourOf(curve.colour) + "2e" : undefined,
    width: 1.5,
    points: { show: false },
    paths: props.steps ? uPlot.paths.stepped?.({ align: props.steps === "before" ? -1 : 1 }) : undefined,
    value: (_, value) => formatValue(props.unit, value),
  }));
}

function options(props: ChartProps & ChartUse, width: number, caption: HTMLElement): uPlot.Options {
  return {
    width,
    height: HEIGHT,
    padding: [6, 28, 0, 0],
    scales: { x: { time: false, range: () => [props.range[0], props.range[1]] }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.08 : 1] } },
    cursor: { sync: { key: CURSOR.key }, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
    legend: { live: true, mount: (_, element) => caption.append(element) },
    axes: [
      axis((_, splits) => formatInstants(splits), 24, WHOLE_STEPS, 72),
      axis((_, splits) => splits.map((value) => formatValue(props.unit, value)), 76, props.unit === "bytes" ? BYTE_STEPS : WHOLE_STEPS),
    ],
    series: [{ label: "at", value: (_, ns) => (ns === null ? "–" : (formatInstants([ns, ns + (props.range[1] - props.range[0]) / 1000])[0] as string)) }, ...legend(props)],
    hooks: {
      setSelect: [
        (plot) => {
          if (plot.select.width < 3) return;
          const [from, to] = [plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x")];
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          props.onSelect(Math.max(0, from), to);
        },
      ],
    },
  };
}

// Keys do what the mouse does: arrows move the cursor.
function pressKey(event: KeyboardEvent, plot: uPlot, use: ChartUse): void {
  const box = plot.over.getBoundingClientRect();
  const left = plot.cursor.left !== undefined && plot.cursor.left !== null && plot.cursor.left >= 0 ? plot.cursor.left : box.width / 2;
  const at = Math.max(0, plot.posToVal(left, "x"));
  const move = (by: number) => plot.setCursor({ left: Math.min(box.width, Math.max(0, left + by)), top: box.height / 2 });
  if (event.key === "ArrowLeft") move(event.shiftKey ? -50 : -5);
  else if (event.key === "ArrowRight") move(event.shiftKey ? 50 : 5);
  else if (event.key === "[") use.onSelect(at, use.range[1]);
  else if (event.key === "]") use.onSelect(use.range[0], at);
  else if (event.key === "Enter") use.onInstant(at, box.left + left, box.top + box.height / 2);
  else return;
  event.preventDefault();
}

export function Chart(props: ChartProps & ChartUse) {
  const box = useRef<HTMLDivElement>(null);
  const caption = useRef<HTMLElement>(null);
  const present = useRef<uPlot | null>(null);
  useEffect(() => {
    const element = box.current;
    if (!element || !caption.current) return undefined;
    const data = [props.timesNs, ...props.curves.map((curve) => curve.values)] as unknown as uPlot.AlignedData;
    const plot = new uPlot(options(props, element.clientWidth, caption.current), data, element);
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    const openMenu = (event: MouseEvent) => {
      event.preventDefault();
      const left = event.clientX - plot.over.getBoundingClientRect().left;
      props.onInstant(Math.max(0, plot.posToVal(left, "x")), event.clientX, event.clientY);
    };
    present.current = plot;
    resize.observe(element);
    plot.over.addEventListener("contextmenu", openMenu);
    return () => {
      resize.disconnect();
      plot.root.parentElement?.querySelectorAll(".u-legend").forEach((old) => old.remove());
      caption.current?.querySelectorAll(".u-legend").forEach((old) => old.remove());
      plot.destroy();
    };
  }, [props.timesNs, props.curves, props.range[0], props.range[1]]);
  const last = props.curves.map((curve) => `${curve.label} at the end: ${formatValue(props.unit, curve.values.at(-1) ?? null)}`).join(", ");
  return (
    <figure class="chart">
      <figcaption ref={caption} title={props.help}>
        <span class="chart-title">{props.title}</span>
      </figcaption>
      <div
        ref={box}
        role="application"
        tabIndex={0}
        aria-label={`${props.title}; ${last}. Arrow keys move the cursor, Enter opens what can be asked of that instant, [ and ] begin and end the range there`}
        onKeyDown={(event) => present.current && pressKey(event, present.current, props)}
      />
    </figure>
  );
}
