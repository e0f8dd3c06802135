/** How long something is kept, as a person reads it. Pure. */

const DAY = 86400;

/** `forever`, `for 7 days`; without a number the settings decide. */
export function retentionText(seconds: number | null | undefined): string {
  if (seconds === undefined) return "as long as the history settings say";
  if (seconds === null) return "forever";
  if (seconds >= DAY)
    return `for ${Math.round(seconds / DAY)} ${Math.round(seconds / DAY) === 1 ? "day" : "days"}`;
  return seconds >= 3600
    ? `for ${Math.round(seconds / 3600)} hours`
    : `for ${Math.round(seconds / 60)} minutes`;
}
