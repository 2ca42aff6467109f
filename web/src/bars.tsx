// SPDX-License-Identifier: MIT
// bars: one bar for each value, the longest as wide as there is room.

interface Bar {
  readonly label: string;
  readonly value: number;
  readonly text: string;
}

export function Bars({ title, bars }: { title: string; bars: readonly Bar[] }) {
  const highest = Math.max(1e-9, ...bars.map((bar) => Math.abs(bar.value)));
  return (
    <table class="bars">
      <caption class="hidden">{title}</caption>
      <tbody>
        {bars.map((bar, index) => (
          <tr key={index}>
            <th scope="row">{bar.label}</th>
            <td>
              <div style={{ width: `${(Math.abs(bar.value) / highest) * 100}%` }} />
            </td>
            <td class="number">{bar.text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
