// SPDX-License-Identifier: MIT
// colours: in the pixel format of a canvas, 0xAABBGGRR.

export type Pixel = number;

export function hsl(hue: number, saturation: number, light: number): Pixel {
  const [s, l] = [saturation / 100, light / 100];
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return ((255 << 24) | (channel(4) << 16) | (channel(8) << 8) | channel(0)) >>> 0;
}

// For example "#ffd33d", the format of the style sheet.
export function fromHex(text: string): Pixel {
  const value = parseInt(text.trim().slice(1), 16);
  return ((255 << 24) | ((value & 255) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

export function faded(pixel: Pixel): Pixel {
  return ((pixel & 0xffffff) | (128 << 24)) >>> 0;
}
