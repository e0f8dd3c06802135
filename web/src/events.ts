/** Server-sent events over fetch, which can carry a token; resumes after a disconnect.

A browser opens six connections to a server, all its tabs together: a hidden tab holds none.
*/

import { headers, problemOf } from "./api";
import { noteServerTime } from "./instance";

export interface ServerEvent {
  name: string;
  data: unknown;
  id: string;
}

export interface Following {
  onEvent: (event: ServerEvent) => void;
  /** Called for every message of the server, heartbeats included; a failed attempt to connect is none. */
  onHeard: () => void;
  /** What cannot get better by trying again. */
  onRefused?: (error: Error) => void;
  /** The server has said all there is to say; without this the end is a cut. */
  onEnd?: () => void;
}

const FIRST_PAUSE = 300;
const LONGEST_PAUSE = 5000;
/** The server sends a heartbeat every second; a connection that is silent for so long is replaced. */
const SILENCE = 8000;
/** A tab that is left for a moment keeps its connection. */
const UNSEEN = 15_000;

/** Follows until the answer is called. `start` is the id of the last event that is known already. */
export function follow(path: string, start: string | null, following: Following): () => void {
  const end = new AbortController();
  void keepFollowing(path, start, following, end.signal);
  return () => end.abort();
}

async function keepFollowing(
  path: string,
  start: string | null,
  following: Following,
  end: AbortSignal,
): Promise<void> {
  let last = start;
  let pause = FIRST_PAUSE;
  while (!end.aborted) {
    try {
      await readOnce(path, last, end, following, (event) => {
        if (event.id) last = event.id;
        pause = FIRST_PAUSE;
        if (event.name === "heartbeat") noteServerTime((event.data as { at: number }).at);
        else following.onEvent(event);
      });
      if (following.onEnd && !end.aborted) return following.onEnd();
    } catch (error) {
      if (error instanceof Refusal) {
        following.onRefused?.(error.problem);
        return;
      }
    }
    if (end.aborted) return;
    await rest(pause, end);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

/** Until the pause is over and the tab is visible; at once when the network comes back or the tab is seen again. */
function rest(pause: number, end: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      document.removeEventListener("visibilitychange", seen);
      end.removeEventListener("abort", done);
      resolve();
    };
    const seen = () => !document.hidden && done();
    const timer = setTimeout(() => !document.hidden && done(), pause);
    window.addEventListener("online", done);
    document.addEventListener("visibilitychange", seen);
    end.addEventListener("abort", done);
  });
}

class Refusal extends Error {
  constructor(readonly problem: Error) {
    super(problem.message);
  }
}

async function readOnce(
  path: string,
  last: string | null,
  end: AbortSignal,
  following: Following,
  onEvent: (event: ServerEvent) => void,
): Promise<void> {
  const cut = new AbortController();
  const stop = () => cut.abort();
  let unseen = 0;
  const look = () => {
    clearTimeout(unseen);
    if (document.hidden) unseen = window.setTimeout(stop, UNSEEN);
  };
  end.addEventListener("abort", stop);
  document.addEventListener("visibilitychange", look);
  look();
  let timer = setTimeout(stop, SILENCE);
  try {
    const more: Record<string, string> = { Accept: "text/event-stream" };
    if (last) more["Last-Event-ID"] = last;
    const response = await fetch(path, { headers: headers(more), signal: cut.signal });
    if (!response.ok || !response.body) {
      const problem = await problemOf(response);
      if (response.status >= 400 && response.status < 500 && response.status !== 429)
        throw new Refusal(problem);
      throw problem;
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE);
      following.onHeard();
      text += value;
      let at: number;
      while ((at = text.indexOf("\n\n")) >= 0) {
        const event = parsed(text.slice(0, at));
        text = text.slice(at + 2);
        if (event) onEvent(event);
      }
    }
  } finally {
    clearTimeout(timer);
    clearTimeout(unseen);
    end.removeEventListener("abort", stop);
    document.removeEventListener("visibilitychange", look);
    cut.abort();
  }
}

export function parsed(block: string): ServerEvent | null {
  let name = "message";
  let id = "";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("id: ")) id = line.slice(4);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  return data ? { name, id, data: JSON.parse(data) as unknown } : null;
}
