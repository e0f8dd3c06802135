import { age, clock } from "../format";
import type { KubeEvent } from "../types";

/** Newest first. */
export function EventList({
  events,
  now,
  none,
}: {
  events: readonly KubeEvent[];
  now: number;
  none: string;
}) {
  if (!events.length) return <p className="quiet padded">{none}</p>;
  return (
    <ul className="events" aria-label="Events">
      {[...events].reverse().map((event, index) => (
        <li key={index} className={event.type === "Warning" ? "warning" : ""}>
          <span className="age" title={clock(event.lastAt)}>
            {age(event.lastAt, now)}
          </span>
          <b>
            {event.type === "Warning" && <span aria-label="Warning">⚠ </span>}
            {event.reason}
          </b>
          <span>
            {event.message}
            {event.count > 1 && <span className="under"> ×{event.count}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}
