import { useEffect, useMemo, useRef, useState } from "react";

import { get, runPath } from "../api";
import { ansi, plain } from "../ansi";
import { follow } from "../events";
import { many } from "../format";
import { useConnection } from "../live";
import type { Step, StepLog } from "../types";
import { CopyButton, Freshness } from "./notice";

/** So many lines are kept in the page; the rest is in the API. */
const MOST = 5000;
const MOST_FOUND = 1000;

interface Props {
  namespace: string;
  run: string;
  step: Step;
  /** 0 for the latest. */
  attempt: number;
}

interface Line {
  number: number;
  text: string;
}

function useLines({ namespace, run, step, attempt }: Props) {
  const [lines, setLines] = useState<Line[]>([]);
  const [note, setNote] = useState("");
  const connection = useConnection();
  const wanted = attempt || step.attempt;
  const isStarted = step.phase === "Running" || (step.phase === "Pending" && step.attempt > 0);
  const isLive = wanted === step.attempt && isStarted;
  // The end of a step does not end the reading of its log: what was followed is read to its end.
  const [isFollowed, setFollowed] = useState(isLive);
  useEffect(() => {
    if (isLive) setFollowed(true);
  }, [isLive]);

  useEffect(() => {
    setLines([]);
    setNote("");
    if (!wanted) {
      setNote(step.sentence ? `It has not run: ${step.sentence}` : "It has not run yet.");
      return;
    }
    const path = `${runPath(namespace, run)}/logs?step=${encodeURIComponent(step.name)}&attempt=${wanted}`;
    if (!isFollowed) {
      let ended = false;
      get<StepLog>(`${path}&tail=${MOST}`).then(
        (log) => {
          if (ended) return;
          setLines(log.lines.map((text, index) => ({ number: index + 1, text })));
          setNote(log.missing || log.note || (log.lines.length ? "" : "It wrote nothing."));
        },
        (error: Error) => {
          if (!ended) setNote(error.message);
        },
      );
      return () => void (ended = true);
    }
    let arrived: Line[] = [];
    let drawing = 0;
    let number = 0;
    const draw = () => {
      drawing = 0;
      const news = arrived;
      arrived = [];
      setLines((known) => [...known, ...news].slice(-MOST));
    };
    const stop = follow(`${path}&follow=true`, null, {
      onHeard: () => (connection.heardAt = Date.now()),
      onEvent: (event) => {
        if (event.name !== "line") return;
        number += 1;
        arrived.push({ number, text: (event.data as { line: string }).line });
        drawing ||= requestAnimationFrame(draw);
      },
      onRefused: (error) => setNote(error.message),
      onEnd: () => setNote(number ? "" : "It wrote nothing."),
    });
    return () => {
      cancelAnimationFrame(drawing);
      stop();
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [namespace, run, step.name, wanted, isFollowed]);
  return { lines, note, isLive, connection };
}

/** One of these for each attempt of each step: give it a key. */
export function StepLogs(props: Props) {
  const { step } = props;
  const { lines, note, isLive, connection } = useLines(props);
  const [text, setText] = useState("");
  const [isWrapped, setWrapped] = useState(() => localStorage.getItem("jangar-wrap") !== "no");
  const [isFollowing, setFollowing] = useState(true);
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const element = box.current;
    if (element && isFollowing && !text) element.scrollTop = element.scrollHeight;
  }, [lines, isFollowing, text]);

  const found = useMemo(() => {
    const asked = text.toLowerCase();
    if (!asked) return [];
    return lines.filter((line) => plain(line.text).toLowerCase().includes(asked)).slice(0, MOST_FOUND);
  }, [lines, text]);
  const current = found[Math.min(at, found.length - 1)]?.number;
  useEffect(() => {
    if (current !== undefined)
      box.current?.querySelector(`[data-line="${current}"]`)?.scrollIntoView({ block: "center" });
  }, [current]);
  const hits = useMemo(() => new Set(found.map((line) => line.number)), [found]);
  const move = (by: number) =>
    setAt((place) => (found.length ? (place + by + found.length) % found.length : 0));
  const wrap = () => {
    localStorage.setItem("jangar-wrap", isWrapped ? "no" : "yes");
    setWrapped(!isWrapped);
  };

  return (
    <section className="logs" aria-label={`Log of ${step.name}`}>
      <div className="tools">
        <input
          type="search"
          placeholder="Search the log"
          aria-label="Search the log"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") move(event.shiftKey ? -1 : 1);
          }}
        />
        {text && (
          <span className="under" role="status">
            {found.length ? `${Math.min(at, found.length - 1) + 1} of ${found.length}` : "not found"}
          </span>
        )}
        <button
          type="button"
          aria-pressed={isFollowing}
          title="Stay at the end while lines come"
          onClick={() => setFollowing(!isFollowing)}
        >
          Follow
        </button>
        <button type="button" aria-pressed={isWrapped} title="Break long lines" onClick={wrap}>
          Wrap
        </button>
        <CopyButton text={() => lines.map((line) => plain(line.text)).join("\n")} label="Copy the log" />
      </div>
      <div
        ref={box}
        className={`lines${isWrapped ? " wrapped" : ""}`}
        tabIndex={0}
        role="log"
        aria-label={`Lines of ${step.name}`}
        onWheel={(event) => event.deltaY < 0 && setFollowing(false)}
        onScroll={(event) => {
          const place = event.currentTarget;
          if (place.scrollHeight - place.scrollTop - place.clientHeight < 8) setFollowing(true);
        }}
      >
        {lines.map((line) => (
          <div
            key={line.number}
            data-line={line.number}
            className={`line${hits.has(line.number) ? " hit" : ""}${line.number === current ? " current" : ""}`}
          >
            {ansi(line.text).map((piece, place) => (
              <span key={place} className={piece.style}>
                {piece.text}
              </span>
            ))}
          </div>
        ))}
        {isLive && !lines.length && !note && <div className="quiet">Waiting for the first line…</div>}
        {note && <div className="quiet">{note}</div>}
      </div>
      <p className="under log-foot">
        {many(lines.length, "line")}
        {lines.length >= MOST ? " (the last ones)" : ""}
        {isLive && <Freshness connection={connection} />}
      </p>
    </section>
  );
}
