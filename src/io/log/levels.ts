import { MeshError, type Parsed, type Problem } from '../../lib/errors.ts';
import { suggestion } from '../../lib/nearest.ts';

/** From the most to the least talkative; `none` lets nothing pass. */
export const LEVELS = ['debug', 'info', 'warn', 'error', 'none'] as const;
export type Level = (typeof LEVELS)[number];

/** The scope whose level holds for every scope that has none of its own; every component has it. */
export const DEFAULT_SCOPE = 'default';

/** A minimum level for each scope that has one. */
export type ScopeLevels = ReadonlyMap<string, Level>;

/**
 * Reads `<scope>:<level>,<scope>:<level>,...`; a level alone is that of the default scope, and of a scope named twice the
 * last one counts. Every part that is wrong is a problem; `scopes` are those that there are.
 */
export function parseLevels(text: string, scopes: readonly string[]): Parsed<ScopeLevels> {
  const levels = new Map<string, Level>();
  const problems: Problem[] = [];
  for (const part of text.split(',').map((item) => item.trim())) {
    const colon = part.lastIndexOf(':');
    const scope = colon === -1 ? DEFAULT_SCOPE : part.slice(0, colon);
    const word = part.slice(colon + 1);
    const level = findLevel(word);
    if (!scopes.includes(scope)) problems.push({ path: '', message: unknownScope(scope, scopes) });
    if (level === undefined) problems.push({ path: '', message: unknownLevel(part, word) });
    else levels.set(scope, level);
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: levels };
}

/** Reads comma-separated scopes; the empty text names none. */
export function parseScopes(text: string, scopes: readonly string[]): Parsed<ReadonlySet<string>> {
  const names = text === '' ? [] : text.split(',').map((item) => item.trim());
  const problems = names
    .filter((name) => !scopes.includes(name))
    .map((name) => ({ path: '', message: unknownScope(name, scopes) }));
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: new Set(names) };
}

/** The value of what was read from a flag. @throws MeshError `usage` that names the flag */
export function requireFlag<T>(flag: string, parsed: Parsed<T>): T {
  if (parsed.ok) return parsed.value;
  throw new MeshError('usage', parsed.problems.map(({ message }) => `--${flag}: ${message}`).join('; '));
}

export function findLevel(word: unknown): Level | undefined {
  return LEVELS.find((known) => known === word);
}

/** `there is no log scope "adz"; the scopes are default, ads; did you mean "ads"?` */
export function unknownScope(name: string, scopes: readonly string[]): string {
  const known = scopes.length === 1 ? `the only scope is ${scopes[0]}` : `the scopes are ${scopes.join(', ')}`;
  return `there is no log scope "${name}"; ${known}${suggestion(name, scopes)}`;
}

function unknownLevel(part: string, word: string): string {
  return `"${part}" is not <scope>:<level> with a level of ${LEVELS.join(', ')}${suggestion(word, LEVELS)}`;
}

/** Whether a message of `level` reaches the minimum. */
export function reaches(minimum: Level, level: Level): boolean {
  return minimum !== 'none' && LEVELS.indexOf(level) >= LEVELS.indexOf(minimum);
}
