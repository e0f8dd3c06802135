/** An object's fields in the order and words of its schema. Pure. */

import { shownValue } from "./columns";
import type { Schema } from "./types";

export interface FieldShown {
  /** Dotted, with list positions in brackets. */
  path: string;
  name: string;
  depth: number;
  /** Empty for what has fields of its own. */
  value: string;
  description: string;
  isKnown: boolean;
}

/** The schema behind references and optional unions. */
export function resolved(schema: Schema | undefined, root: Schema): Schema {
  let at = schema ?? {};
  for (let hops = 0; hops < 8; hops += 1) {
    const next = at.$ref
      ? root.$defs?.[at.$ref.split("/").pop() ?? ""]
      : (at.allOf?.[0] ?? at.anyOf?.find((item) => item.type !== "null"));
    if (!next) return at;
    const description = at.description ?? next.description;
    at = { ...next, ...(description ? { description } : {}) };
  }
  return at;
}

export function fields(value: unknown, root: Schema): FieldShown[] {
  return [...walked(value, root, root, "", 0)];
}

function* walked(
  value: unknown,
  schema: Schema,
  root: Schema,
  path: string,
  depth: number,
): Generator<FieldShown> {
  if (value === null || typeof value !== "object") return;
  const known = schema.properties ?? {};
  const given = Object.keys(value);
  const names = Array.isArray(value)
    ? given
    : [
        ...Object.keys(known).filter((name) => given.includes(name)),
        ...given.filter((name) => !(name in known)),
      ];
  for (const name of names) {
    const inner = (value as Record<string, unknown>)[name];
    const more = typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
    const of = resolved(Array.isArray(value) ? schema.items : (known[name] ?? more), root);
    const here = Array.isArray(value) ? `${path}[${name}]` : path ? `${path}.${name}` : name;
    const isLeaf =
      inner === null || typeof inner !== "object" || !Object.keys(inner).length || isPlainList(inner);
    yield {
      path: here,
      name: Array.isArray(value) ? label(inner, name) : name,
      depth,
      value: isLeaf
        ? isPlainList(inner)
          ? (inner as unknown[]).map(shownValue).join(", ")
          : shownValue(inner)
        : "",
      description: of.description ?? "",
      isKnown: Array.isArray(value) || name in known || more !== undefined,
    };
    if (!isLeaf) yield* walked(inner, of, root, here, depth + 1);
  }
}

function isPlainList(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => item === null || typeof item !== "object");
}

function label(item: unknown, index: string): string {
  const named = item as { name?: unknown; type?: unknown } | null;
  return shownValue(named?.name ?? named?.type) || `#${Number(index) + 1}`;
}
