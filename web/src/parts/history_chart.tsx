import { clock, many, percent, span } from "../format";
import { navigate } from "../router";
import { rolling, seconds } from "../statistics";
import type { Run } from "../types";
import { runHref } from "./link";

const MOST = 60;

/** How long each run took, oldest left: a bar a run, colored by how it ended. */
export function HistoryChart({
  runs,
  now,
  isSmall = false,
}: {
  runs: readonly Run[];
  now: number;
  isSmall?: boolean;
}) {
  const shown = runs.slice(0, isSmall ? 24 : MOST).reverse();
  const longest = Math.max(0.001, ...shown.map((run) => seconds(run, now) ?? 0));
  if (!shown.length) return <p className="under">No runs yet.</p>;
  if (isSmall) {
    return (
      <span
        className="spark"
        role="img"
        aria-label={`The last ${shown.length} runs, oldest first: ${shown.map((run) => run.phase).join(", ")}`}
      >
        {shown.map((run) => (
          <i key={run.uid} className={`fill-${run.phase}`} style={{ height: height(run, now, longest) }} />
        ))}
      </span>
    );
  }
  return (
    <figure className="chart">
      <figcaption className="under">
        Duration of the last {many(shown.length, "run")}; the longest took {span(longest)}
      </figcaption>
      <div className="bars">
        {shown.map((run) => {
          const words = `${run.name}: ${run.phase}, ${span(seconds(run, now) ?? 0)}, ${clock(run.createdAt)}`;
          return (
            <button
              key={run.uid}
              type="button"
              aria-label={words}
              title={words}
              onClick={() => navigate(runHref(run.namespace, run.name))}
            >
              <i className={`fill-${run.phase}`} style={{ height: height(run, now, longest) }} />
            </button>
          );
        })}
      </div>
      <RateLine rates={rolling(shown)} />
    </figure>
  );
}

/** The success rate over the same runs, each with the nine before it. */
function RateLine({ rates }: { rates: readonly number[] }) {
  const last = rates[rates.length - 1];
  if (rates.length < 3 || last === undefined) return null;
  const points = rates.map((rate, at) => `${(100 * at) / (rates.length - 1)},${30 - 28 * rate}`).join(" ");
  return (
    <>
      <svg
        className="rate"
        viewBox="0 0 100 32"
        preserveAspectRatio="none"
        role="img"
        aria-label={`Success rate over time, now ${percent(last)}`}
      >
        <line x1="0" y1="2" x2="100" y2="2" />
        <line x1="0" y1="30" x2="100" y2="30" />
        <polyline points={points} />
      </svg>
      <span className="under">Success rate of ten runs at a time, oldest left: now {percent(last)}</span>
    </>
  );
}

function height(run: Run, now: number, longest: number): string {
  return `${Math.max(6, (100 * (seconds(run, now) ?? 0)) / longest)}%`;
}
