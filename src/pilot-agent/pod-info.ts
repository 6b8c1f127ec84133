import type { Parsed, Problem } from '../lib/errors.ts';

/**
 * Reads labels as the downward API writes them: a line `key="value"` each, the value quoted as Go quotes strings.
 * https://kubernetes.io/docs/concepts/workloads/pods/downward-api/
 */
export function parsePodLabels(text: string): Parsed<Readonly<Record<string, string>>> {
  const problems: Problem[] = [];
  const labels = new Map<string, string>();
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const [, key = '', quoted = ''] = /^([^=\s]+)=(".*")$/.exec(line.trim()) ?? [];
    const value = unquote(quoted);
    if (key === '' || value === undefined)
      problems.push({ path: '', line: index + 1, message: 'is not a line like app="httpbin"' });
    else labels.set(key, value);
  }
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, value: Object.fromEntries([...labels].sort(([a], [b]) => (a < b ? -1 : 1))) };
}

/** Label values are ASCII letters, digits, dots and dashes, for which Go's and JSON's quoting are the same. */
function unquote(quoted: string): string | undefined {
  try {
    const value: unknown = JSON.parse(quoted);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
