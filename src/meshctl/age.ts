const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** How long ago something was, in the short form of kubectl: `45s`, `3m20s`, `5h`, `2d3h`, `400d`. */
export function formatAge(created: string | undefined, now: Date): string {
  const since = created === undefined ? Number.NaN : Date.parse(created);
  if (Number.isNaN(since)) return '<unknown>';
  const age = Math.trunc((now.getTime() - since) / 1_000);
  if (age < -1) return '<invalid>';
  if (age < 2 * MINUTE) return `${Math.max(age, 0)}s`;
  if (age < 10 * MINUTE) return pair(age, MINUTE, 'm', 1, 's');
  if (age < 3 * HOUR) return `${Math.trunc(age / MINUTE)}m`;
  if (age < 8 * HOUR) return pair(age, HOUR, 'h', MINUTE, 'm');
  if (age < 2 * DAY) return `${Math.trunc(age / HOUR)}h`;
  if (age < 8 * DAY) return pair(age, DAY, 'd', HOUR, 'h');
  if (age < 2 * YEAR) return `${Math.trunc(age / DAY)}d`;
  if (age < 8 * YEAR) return pair(age, YEAR, 'y', DAY, 'd');
  return `${Math.trunc(age / YEAR)}y`;
}

/** The larger unit and, unless there is none left, the smaller one. */
function pair(age: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.trunc((age % large) / small);
  return `${Math.trunc(age / large)}${largeName}${rest === 0 ? '' : `${rest}${smallName}`}`;
}
