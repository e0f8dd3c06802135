/** What /metrics tells, read as numbers. Pure. */

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+([^\s]+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export function samples(text: string): Sample[] {
  return text.split("\n").flatMap((line) => {
    const match = line.startsWith("#") ? null : LINE.exec(line);
    if (!match) return [];
    const labels = Object.fromEntries(
      [...(match[2] ?? "").matchAll(LABEL)].map(([, name = "", value = ""]) => [name, value] as const),
    );
    return [{ name: match[1] ?? "", labels, value: Number(match[3]) }];
  });
}

export function total(all: readonly Sample[], name: string, labels: Record<string, string> = {}): number {
  return all
    .filter(
      (item) =>
        item.name === name && Object.entries(labels).every(([key, value]) => item.labels[key] === value),
    )
    .reduce((sum, entry) => sum + entry.value, 0);
}

/** An upper bound of a quantile of a histogram, from its buckets; null without observations. */
export function bound(
  all: readonly Sample[],
  name: string,
  share: number,
  labels: Record<string, string> = {},
): number | null {
  const buckets = new Map<number, number>();
  for (const item of all) {
    if (item.name !== `${name}_bucket`) continue;
    if (!Object.entries(labels).every(([key, value]) => item.labels[key] === value)) continue;
    const edge = item.labels["le"] === "+Inf" ? Infinity : Number(item.labels["le"]);
    buckets.set(edge, (buckets.get(edge) ?? 0) + item.value);
  }
  const edges = [...buckets].sort(([one], [other]) => one - other);
  const count = edges[edges.length - 1]?.[1] ?? 0;
  if (!count) return null;
  return edges.find(([, reached]) => reached >= share * count)?.[0] ?? null;
}
