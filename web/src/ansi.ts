/** Lines of logs with their colors, as terminals write them. */

export interface Piece {
  text: string;
  style: string;
}

// Colors and cursor movements (CSI), titles and links (OSC), and the rest of the two-character sequences.
// eslint-disable-next-line no-control-regex
const ESCAPES = /\u001b(?:\[([0-9;:?]*)([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_])/g;

/** Pieces of one look each; sequences that are no colors are left out, and what a carriage return wrote over. */
export function ansi(line: string): Piece[] {
  const pieces: Piece[] = [];
  let style = "";
  let at = 0;
  const text = overwritten(line);
  for (const match of text.matchAll(ESCAPES)) {
    if (match.index > at) pieces.push({ text: text.slice(at, match.index), style });
    at = match.index + match[0].length;
    if (match[2] === "m") style = styled(style, match[1] ?? "");
  }
  if (at < text.length) pieces.push({ text: text.slice(at), style });
  return pieces;
}

/** The text alone, for searching and copying. */
export function plain(line: string): string {
  return overwritten(line).replaceAll(ESCAPES, "");
}

/** Progress bars draw themselves over and over: the last drawing counts. */
function overwritten(line: string): string {
  const end = line.endsWith("\r") ? line.slice(0, -1) : line;
  return end.slice(end.lastIndexOf("\r") + 1);
}

const LOOKS: Record<number, string> = {
  1: "ansi-bold",
  2: "ansi-dim",
  3: "ansi-italic",
  4: "ansi-underline",
};

function styled(before: string, codes: string): string {
  let looks = new Set(before.split(" ").filter(Boolean));
  const color = (name: string | null, ground: string) => {
    looks = new Set([...looks].filter((item) => !item.startsWith(`ansi-${ground}`)));
    if (name !== null) looks.add(`ansi-${ground}${name}`);
  };
  const numbers = (codes || "0").split(/[;:]/).map(Number);
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? 0;
    const look = LOOKS[code];
    if (code === 0) looks = new Set();
    else if (look) looks.add(look);
    else if (code === 22)
      looks = new Set([...looks].filter((entry) => entry !== "ansi-bold" && entry !== "ansi-dim"));
    else if (code === 23) looks.delete("ansi-italic");
    else if (code === 24) looks.delete("ansi-underline");
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) color(String(code % 10), "fg-");
    else if (code === 39) color(null, "fg-");
    else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) color(String(code % 10), "bg-");
    else if (code === 49) color(null, "bg-");
    else if (code === 38 || code === 48) {
      // Of the many colors the first sixteen have names; the others keep the text as it is.
      const ground = code === 38 ? "fg-" : "bg-";
      const number = numbers[at + 2] ?? 0;
      if (numbers[at + 1] === 5) color(number < 16 ? String(number % 8) : null, ground);
      at += numbers[at + 1] === 5 ? 2 : 4;
    }
  }
  return [...looks].join(" ");
}
