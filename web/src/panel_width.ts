/** How wide the user made the panel of a step; kept for the next visit. */

const KEY = "jangar-panel";
const LEAST = 320;
const LEFT = 320;
const STEP = 40;

export function panelWidth(wanted: number, window: number): number {
  return Math.round(Math.max(LEAST, Math.min(wanted, window - LEFT)));
}

export function keptWidth(window: number): number {
  const kept = Number(localStorage.getItem(KEY));
  return panelWidth(kept || Math.min(window >= 2400 ? 820 : 560, window * 0.46), window);
}

export function keepWidth(width: number): void {
  localStorage.setItem(KEY, String(width));
}

/** By how much a key moves the edge; null for other keys. */
export function keyStep(key: string): number | null {
  if (key === "ArrowLeft") return STEP;
  return key === "ArrowRight" ? -STEP : null;
}
