/** Columns of kinds, as `kubectl get` shows them: a small part of JSONPath, the part that columns use. Pure. */

const PART = /\.([A-Za-z0-9_-]+)|\[\?\(@\.([A-Za-z0-9_]+)==["']([^"']*)["']\)\]|\[(\d+)\]/gy;

type Json = unknown;

/** The value at a path such as `.status.conditions[?(@.type=="Ready")].status`; undefined if there is none. */
export function valueAt(object: Json, path: string): Json {
  let value: Json = object;
  for (const match of path.matchAll(PART)) {
    if (value === null || typeof value !== "object") return undefined;
    const [, field, key, wanted, index] = match;
    if (field !== undefined) value = (value as Record<string, Json>)[field];
    else if (key !== undefined) {
      value = Array.isArray(value)
        ? value.find((item) => (item as Record<string, Json> | null)?.[key] === wanted)
        : undefined;
    } else value = Array.isArray(value) ? value[Number(index)] : undefined;
  }
  return value;
}

export function shownValue(value: Json): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Those that a list has room for. */
export function columnsOf<C extends { priority: number }>(kind: { columns: readonly C[] }): C[] {
  return kind.columns.filter((column) => column.priority === 0);
}
