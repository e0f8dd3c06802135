/** Marks of a time axis at round times: 1, 2 and 5 times a power of ten seconds, then minutes, hours and days. Pure. */

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;
const STEPS: readonly number[] = [
  ...[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20],
  ...[1, 2, 5, 10, 20].map((item) => item * MINUTE),
  ...[1, 2, 5, 10].map((entry) => entry * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100].map((element) => element * DAY),
];

/** Seconds from the beginning, the first 0 and none after the end; about so many. */
export function ticks(seconds: number, about = 6): number[] {
  const step = STEPS.find((item) => seconds / item <= about) ?? STEPS[STEPS.length - 1] ?? DAY;
  const count = Math.floor(seconds / step + 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => Math.round(index * step * 100) / 100);
}

/** 0, 0.5s, 20s, 5m, 1m 30s, 2h: no unit that says nothing. */
export function tickWords(seconds: number): string {
  if (seconds === 0) return "0";
  const parts: [number, string][] = [
    [Math.floor(seconds / DAY), "d"],
    [Math.floor((seconds % DAY) / HOUR), "h"],
    [Math.floor((seconds % HOUR) / MINUTE), "m"],
    [Math.round((seconds % MINUTE) * 100) / 100, "s"],
  ];
  return parts
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(" ");
}
