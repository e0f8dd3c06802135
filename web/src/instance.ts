/** What the page knows about the instance that it shows: its clock, its command line, how long it keeps history. */

import type { Me } from "./types";

const known = {
  command: (typeof document !== "undefined" && document.documentElement.dataset["command"]) || "jangar",
  history: null as Me["history"],
  /** Milliseconds by which the server's clock is ahead of this computer's. */
  ahead: 0,
};

/** Clocks that differ by less than this are the same clock, seen over a network. */
const SAME = 2000;

export function meet(me: Me): void {
  known.command = me.commandPrefix || "jangar";
  known.history = me.history;
}

export function historyKept(): Me["history"] {
  return known.history;
}

export function noteServerTime(at: number, now = Date.now()): void {
  const ahead = at - now;
  known.ahead = Math.abs(ahead) < SAME ? 0 : ahead;
}

/** The time as the server has it: times in its answers are compared with this. */
export function serverNow(): number {
  return Date.now() + known.ahead;
}

/** A command as it must be typed for this instance: `jangar list --data-dir /srv/jangar`. */
export function commandLine(text: string, command = known.command): string {
  if (!text.startsWith("jangar ")) return text;
  const options = command.startsWith("jangar ") ? command.slice("jangar".length) : "";
  return options ? text + options : command + text.slice("jangar".length);
}
