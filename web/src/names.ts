/** Names that are too long for their box, shortened so that they stay distinguishable. Pure. */

const CUT = "…";

/** The beginning and the end: names of steps differ at their ends more often than in the middle. */
export function middle(name: string, max: number): string {
  if (name.length <= max) return name;
  if (max <= 1) return CUT.slice(0, max);
  const tail = Math.floor((max - 1) / 2);
  return name.slice(0, max - 1 - tail) + CUT + (tail ? name.slice(-tail) : "");
}

/** Every name with at most so many characters. Names that would look alike show the part in which they differ. */
export function shortened(names: readonly string[], max: number): Map<string, string> {
  const shown = new Map(names.map((name) => [name, middle(name, max)]));
  const alike = new Map<string, string[]>();
  for (const [name, short] of shown) alike.set(short, [...(alike.get(short) ?? []), name]);
  for (const group of alike.values()) {
    if (group.length < 2) continue;
    const head = sharedLength(group, (name, index) => name[index]);
    const room = Math.min(...group.map((name) => name.length)) - head;
    const tail = Math.min(
      room,
      sharedLength(group, (name, index) => name[name.length - 1 - index]),
    );
    for (const name of group) shown.set(name, around(name, head, name.length - tail, max));
  }
  return shown;
}

function sharedLength(
  names: readonly string[],
  at: (name: string, index: number) => string | undefined,
): number {
  const shortest = Math.min(...names.map((name) => name.length));
  const first = names[0] ?? "";
  let length = 0;
  while (length < shortest && names.every((name) => at(name, length) === at(first, length))) length += 1;
  return length;
}

/** As much as fits, the part from one place to another in it, with a beginning before it. */
function around(name: string, from: number, to: number, max: number): string {
  const differs = name.slice(from, to);
  const room = max - 2 - differs.length;
  if (room < 2) return CUT + middle(differs, max - 1);
  const tail = Math.min(name.length - to, Math.floor(room / 2));
  const head = room - tail;
  const before = head >= from ? name.slice(0, from) : name.slice(0, head) + CUT;
  const after = tail >= name.length - to ? name.slice(to) : CUT + (tail ? name.slice(-tail) : "");
  return before + differs + after;
}
