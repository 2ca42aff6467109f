// SPDX-License-Identifier: MIT
// chart: curves over time, all with one cursor; dragging over one selects a range.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { formatBytes, formatCount, formatDuration } from "./format";

export interface Curve {
  readonly label: string;
  readonly values: ReadonlyArray<number | null>;
  readonly colour: string; // a CSS variable's name
  readonly isFilled?: boolean;
}

export interface ChartProps {
  readonly title: string;
  readonly timesNs: readonly number[];
  readonly curves: readonly Curve[];
  readonly unit: "bytes" | "count" | "per_s";
  readonly onSelect: (fromNs: number, toNs: number) => void;
  readonly onInstant: (atNs: number, x: number, y: number) => void;
}

const CURSOR = uPlot.sync("time");

function formatValue(unit: ChartProps["unit"], value: number | null): string {
  if (value === null) return "–";
  if (unit === "bytes") return formatBytes(value);
  return unit === "per_s" ? `${formatCount(Math.round(value))}/s` : formatCount(Math.round(value));
}

function colourOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axis(values: (self: uPlot, splits: number[]) => string[], size: number): uPlot.Axis {
  return { stroke: () => colourOf("--quiet"), grid: { stroke: () => colourOf("--line"), width: 1 }, ticks: { show: false }, values, size, font: "12px system-ui" };
}

function options(props: ChartProps, width: number): uPlot.Options {
  return {
    width,
    height: 170,
    scales: { x: { time: false } },
    cursor: { sync: { key: CURSOR.key }, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
    legend: { live: true },
    axes: [axis((_, splits) => splits.map((ns) => formatDuration(ns)), 28), axis((_, splits) => splits.map((value) => formatValue(props.unit, value)), 76)],
    series: [
      { label: "time", value: (_, ns) => (ns === null ? "–" : formatDuration(ns)) },
      ...props.curves.map((curve): uPlot.Series => ({
        label: curve.label,
        stroke: () => colourOf(curve.colour),
        fill: curve.isFilled ? () => colourOf(curve.colour) + "33" : undefined,
        width: 1.5,
        points: { show: false },
        value: (_, value) => formatValue(props.unit, value),
      })),
    ],
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

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const data = [props.timesNs, ...props.curves.map((curve) => curve.values)] as unknown as uPlot.AlignedData;
    const plot = new uPlot(options(props, element.clientWidth), data, element);
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 170 }));
    const openMenu = (event: MouseEvent) => {
      event.preventDefault();
      const left = event.clientX - plot.over.getBoundingClientRect().left;
      props.onInstant(Math.max(0, plot.posToVal(left, "x")), event.clientX, event.clientY);
    };
    resize.observe(element);
    plot.over.addEventListener("contextmenu", openMenu);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [props.timesNs, props.curves]);
  const last = props.curves.map((curve) => `${curve.label} at the end: ${formatValue(props.unit, curve.values.at(-1) ?? null)}`).join(", ");
  return (
    <figure class="chart">
      <figcaption>{props.title}</figcaption>
      <div ref={box} role="img" aria-label={`${props.title}; ${last}`} />
    </figure>
  );
}
