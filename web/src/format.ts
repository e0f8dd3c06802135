/** Times and lengths of time as people read them. */

export function span(seconds: number): string {
  if (seconds < 0) seconds = 0;
  if (seconds < 10) return `${seconds.toFixed(1)}s`;
  if (seconds < 60) return `${Math.floor(seconds)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${Math.floor(seconds % 60)}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h ${minutes % 60}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

export function duration(from: string | null, to: string | null, now: number): string {
  if (!from) return "";
  return span(((to ? Date.parse(to) : now) - Date.parse(from)) / 1000);
}

/** In one unit: 3m, 2h, 5d. */
function rough(seconds: number): string {
  if (seconds < 60) return `${Math.floor(seconds)}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86400)}d`;
}

export function age(at: string, now: number): string {
  return `${rough(Math.max(0, (now - Date.parse(at)) / 1000))} ago`;
}

/** When something will be, from now. */
export function ahead(at: string, now: number): string {
  const seconds = (Date.parse(at) - now) / 1000;
  return seconds <= 0 ? "any moment" : `in ${rough(seconds)}`;
}

/** How much longer: 29d. */
export function until(at: string, now: number): string {
  return rough(Math.max(0, (Date.parse(at) - now) / 1000));
}

export function clock(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

export function many(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : several}`;
}

export function percent(share: number): string {
  return `${share >= 0.995 && share < 1 ? 99 : Math.round(share * 100)}%`;
}
