/** Runs as they are now: a list that is kept true by changes, and one run with all its steps. */

import { useEffect, useRef, useState } from "react";

import { ApiProblem, get, runPath } from "./api";
import { follow } from "./events";
import { serverNow } from "./instance";
import { isOver } from "./steps";
import type { Run, RunDetail, RunPage } from "./types";

export interface Filters {
  text: string;
  phases: string[];
  namespace: string;
  orchestration: string;
  /** Only runs created within so many seconds; 0 for all. */
  within: number;
  /** Also runs that are a step of another. */
  nested: boolean;
}

export const NO_FILTERS: Filters = {
  text: "",
  phases: [],
  namespace: "",
  orchestration: "",
  within: 0,
  nested: false,
};

/** When the server was last heard. It changes with every message, so nothing is redrawn for it: readers poll it. */
export interface Connection {
  heardAt: number | null;
  /** Milliseconds of silence after which the data is not live. */
  patience: number;
}

/** Heartbeats come every second. */
const STREAM_PATIENCE = 2500;
const LOOK_EVERY = 250;

export function useConnection(patience = STREAM_PATIENCE): Connection {
  return useRef<Connection>({ heardAt: null, patience }).current;
}

export interface Silence {
  isLive: boolean;
  /** Milliseconds since the last message; null before the first. */
  age: number | null;
}

export function silence(connection: Connection, now: number): Silence {
  if (connection.heardAt === null) return { isLive: false, age: null };
  const age = Math.max(0, now - connection.heardAt);
  return { isLive: age <= connection.patience, age };
}

/** Redrawn when the connection becomes live or stops being so, and every second while it is not. */
export function useSilence(connection: Connection): Silence {
  const [seen, setSeen] = useState(() => silence(connection, Date.now()));
  useEffect(() => {
    const look = () => {
      const next = silence(connection, Date.now());
      setSeen((last) => (isAlike(last, next) ? last : next));
    };
    const timer = setInterval(look, LOOK_EVERY);
    look();
    return () => clearInterval(timer);
  }, [connection]);
  return seen;
}

function isAlike(one: Silence, other: Silence): boolean {
  if (one.isLive !== other.isLive || (one.age === null) !== (other.age === null)) return false;
  return one.isLive || Math.floor((one.age ?? 0) / 1000) === Math.floor((other.age ?? 0) / 1000);
}

const AGAIN = 1000;
/** Nested runs that are shown are asked for so often while they run: a stream for each would use up the connections. */
const NESTED_EVERY = 700;

export function matches(run: Run, filters: Filters, now = serverNow()): boolean {
  if (run.parent && !filters.nested) return false;
  if (filters.namespace && run.namespace !== filters.namespace) return false;
  if (filters.phases.length && !filters.phases.includes(run.phase)) return false;
  if (filters.orchestration && run.orchestration !== filters.orchestration) return false;
  if (filters.within && now - Date.parse(run.createdAt) > filters.within * 1000) return false;
  if (!filters.text) return true;
  const text = filters.text.toLowerCase();
  return [run.name, run.orchestration ?? "", run.reason, run.message, run.namespace].some((item) =>
    item.toLowerCase().includes(text),
  );
}

export function before(one: Run, other: Run): number {
  return other.createdAt.localeCompare(one.createdAt) || other.uid.localeCompare(one.uid);
}

function query(filters: Filters, cursor: string | null): string {
  const asked = new URLSearchParams({ limit: "500" });
  if (filters.text) asked.set("q", filters.text);
  if (filters.phases.length) asked.set("phase", filters.phases.join(","));
  if (filters.namespace) asked.set("namespace", filters.namespace);
  if (filters.orchestration) asked.set("orchestration", filters.orchestration);
  if (filters.within) asked.set("sinceSeconds", String(filters.within));
  if (filters.nested) asked.set("nested", "true");
  if (cursor) asked.set("cursor", cursor);
  return `/v1/runs?${asked}`;
}

function canPass(problem: ApiProblem): boolean {
  return problem.status === 0 || problem.status >= 500 || problem.status === 429;
}

export interface LiveRuns {
  runs: Run[] | null;
  problem: ApiProblem | null;
  connection: Connection;
  hasMore: boolean;
  more: () => void;
}

export function useRuns(filters: Filters): LiveRuns {
  const [runs, setRuns] = useState<Run[] | null>(null);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const connection = useConnection();
  const [cursor, setCursor] = useState<string | null>(null);
  const key = JSON.stringify(filters);
  const current = useRef(key);
  current.current = key;
  const held = useRef(new Map<string, Run>());

  useEffect(() => {
    let stop = () => {};
    let ended = false;
    let again = 0;
    const known = new Map<string, Run>();
    held.current = known;
    let waiting = 0;
    const show = () => {
      waiting = 0;
      if (!ended) setRuns([...known.values()].sort(before));
    };
    // Many changes at once are one drawing.
    const soon = () => {
      if (!waiting) waiting = requestAnimationFrame(show);
    };
    const load = async () => {
      try {
        const page = await get<RunPage>(query(filters, null));
        if (ended) return;
        connection.heardAt = Date.now();
        known.clear();
        for (const run of page.items) known.set(run.uid, run);
        setCursor(page.next);
        setProblem(null);
        show();
        stop();
        stop = follow("/v1/watch", page.position, {
          onHeard: () => (connection.heardAt = Date.now()),
          onEvent: (event) => {
            if (event.name === "reset") return void load();
            const run = event.data as Run;
            if (event.name === "gone") {
              // Its object is gone; that it was is history, which the next reading tells.
              known.delete(run.uid);
            } else if (event.name === "run") {
              if (matches(run, filters)) known.set(run.uid, run);
              else known.delete(run.uid);
            } else return;
            soon();
          },
          onRefused: (error) => error instanceof ApiProblem && setProblem(error),
        });
      } catch (error) {
        if (ended) return;
        const told = error as ApiProblem;
        setProblem(told);
        if (canPass(told)) again = window.setTimeout(() => void load(), AGAIN);
      }
    };
    void load();
    return () => {
      ended = true;
      clearTimeout(again);
      cancelAnimationFrame(waiting);
      stop();
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [key]);

  const more = () => {
    if (!cursor) return;
    const asked = cursor;
    setCursor(null);
    get<RunPage>(query(filters, asked)).then(
      (page) => {
        if (current.current !== key) return;
        for (const run of page.items) if (!held.current.has(run.uid)) held.current.set(run.uid, run);
        setRuns([...held.current.values()].sort(before));
        setCursor(page.next);
      },
      () => setCursor(asked),
    );
  };
  return { runs, problem, connection, hasMore: cursor !== null, more };
}

export interface LiveRun {
  run: RunDetail | null;
  isGone: boolean;
  problem: ApiProblem | null;
  connection: Connection;
}

export function useRun(namespace: string, name: string): LiveRun {
  const [run, setRun] = useState<RunDetail | null>(null);
  const [isGone, setGone] = useState(false);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const connection = useConnection();
  useEffect(() => {
    setRun(null);
    setGone(false);
    setProblem(null);
    let isHere = true;
    const stop = follow(`${runPath(namespace, name)}/watch`, null, {
      onHeard: () => (connection.heardAt = Date.now()),
      onEvent: (event) => {
        if (event.name === "gone") {
          setGone(true);
          stop();
          // What history has of it, if there is one; else the page keeps what it last was.
          get<RunDetail>(runPath(namespace, name)).then(
            (past) => isHere && setRun(past),
            () => {},
          );
          return;
        }
        if (event.name !== "run" && event.name !== "change") return;
        const told = event.data as RunDetail;
        setRun((known) => (event.name === "run" || !known ? told : merged(known, told)));
      },
      onRefused: (error) => error instanceof ApiProblem && setProblem(error),
    });
    return () => {
      isHere = false;
      stop();
    };
  }, [namespace, name, connection]);
  return { run, isGone, problem, connection };
}

/**
 * A change has only the steps that changed or are new; the others stay the very same values, so nothing redraws them.
 * A run that is read before it has started has no steps: its first change brings them all.
 */
export function merged(known: RunDetail, change: RunDetail): RunDetail {
  if (!change.steps.length) return { ...change, steps: known.steps };
  const changed = new Map(change.steps.map((step) => [step.name, step]));
  const names = new Set(known.steps.map((step) => step.name));
  const added = change.steps.filter((step) => !names.has(step.name));
  return { ...change, steps: [...known.steps.map((step) => changed.get(step.name) ?? step), ...added] };
}

/** The nested runs at these paths (`outer`, `outer/inner`), as far as they have begun. */
export function useNested(run: RunDetail | null, opened: readonly string[]): ReadonlyMap<string, RunDetail> {
  const [found, setFound] = useState<ReadonlyMap<string, RunDetail>>(new Map());
  const key = opened.join(",");
  const version = run?.resourceVersion;
  const seen = useRef(found);
  seen.current = found;
  useEffect(() => {
    let ended = false;
    let timer = 0;
    const look = async () => {
      const next = new Map<string, RunDetail>();
      let isLive = false;
      for (const path of [...opened].sort()) {
        const cut = path.lastIndexOf("/");
        const outer = cut < 0 ? run : next.get(path.slice(0, cut));
        const child = outer?.steps.find((step) => step.name === path.slice(cut + 1))?.child;
        if (!outer || !child) {
          isLive ||= Boolean(outer && !isOver(outer));
          continue;
        }
        const known = seen.current.get(path);
        if (known?.name === child && isOver(known)) {
          next.set(path, known);
          continue;
        }
        try {
          next.set(path, await get<RunDetail>(runPath(outer.namespace, child)));
        } catch {
          if (known) next.set(path, known);
        }
        isLive ||= !isOver(next.get(path) ?? { phase: "" });
      }
      if (ended) return;
      setFound(next);
      if (isLive) timer = window.setTimeout(() => void look(), NESTED_EVERY);
    };
    if (opened.length && run) void look();
    else if (seen.current.size) setFound(new Map());
    return () => {
      ended = true;
      clearTimeout(timer);
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [key, version]);
  return found;
}

/** The server's time, again every second while something runs. */
export function useNow(isTicking: boolean, every = 1000): number {
  const [now, setNow] = useState(serverNow());
  useEffect(() => {
    setNow(serverNow());
    if (!isTicking) return;
    const timer = setInterval(() => setNow(serverNow()), every);
    return () => clearInterval(timer);
  }, [isTicking, every]);
  return now;
}

export interface Asked<T> {
  found: T | null;
  problem: Error | null;
  /** Of answers that are asked for again and again. */
  connection: Connection;
}

/** An answer that is asked for again when the path or the version changes, and every so often if wanted. */
export function useAnswer<T>(path: string | null, version: unknown = "", every = 0): Asked<T> {
  const [answer, setAnswer] = useState<Omit<Asked<T>, "connection"> & { path: string | null }>({
    found: null,
    problem: null,
    path,
  });
  const connection = useConnection(every + STREAM_PATIENCE);
  useEffect(() => {
    if (path === null) return;
    let ended = false;
    let timer = 0;
    const look = () => {
      get<T>(path)
        .then(
          (found) => {
            if (ended) return;
            connection.heardAt = Date.now();
            setAnswer({ found, problem: null, path });
          },
          (problem: Error) => {
            if (ended) return;
            setAnswer((last) => ({ found: last.path === path ? last.found : null, problem, path }));
            if (!every && problem instanceof ApiProblem && canPass(problem))
              timer = window.setTimeout(look, AGAIN);
          },
        )
        .finally(() => {
          if (!ended && every) timer = window.setTimeout(look, every);
        });
    };
    look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [path, version, every, connection]);
  return answer.path === path ? { ...answer, connection } : { found: null, problem: null, connection };
}
