/** The contrast of colors (WCAG 2.2). */

export function channels(color: string): [number, number, number] | null {
  const match = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(color);
  const hex = match?.[1];
  if (!hex) return null;
  const whole = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
  const at = (from: number) => Number.parseInt(whole.slice(from, from + 2), 16);
  return [at(0), at(2), at(4)];
}

function luminance(color: string): number | null {
  const parts = channels(color)?.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const [red, green, blue] = parts ?? [];
  return red === undefined || green === undefined || blue === undefined
    ? null
    : 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Returns the contrast of two colors, 1 to 21; null if one is no color. */
export function contrast(one: string, other: string): number | null {
  const [a, b] = [luminance(one), luminance(other)];
  return a === null || b === null ? null : (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
