import { MeshError } from '../../lib/errors.ts';
import { suggestion } from '../../lib/nearest.ts';

/** From the most to the least talkative; `none` lets nothing pass. */
export const LEVELS = ['debug', 'info', 'warn', 'error', 'none'] as const;
export type Level = (typeof LEVELS)[number];

/** The scope whose level holds for every scope that has none of its own. */
export const DEFAULT_SCOPE = 'default';

/** A minimum level for each scope that has one. */
export type ScopeLevels = ReadonlyMap<string, Level>;

/**
 * Reads `<scope>:<level>,<scope>:<level>,...`; a level alone is that of the default scope.
 * @throws MeshError `usage` naming the flag and the value
 */
export function parseLevels(flag: string, text: string): ScopeLevels {
  const levels = new Map<string, Level>();
  for (const part of text.split(',').map((item) => item.trim())) {
    if (part === '') continue;
    const colon = part.lastIndexOf(':');
    const scope = colon === -1 ? DEFAULT_SCOPE : part.slice(0, colon);
    const word = part.slice(colon + 1);
    const level = LEVELS.find((known) => known === word);
    if (level === undefined || scope === '') {
      const hint = suggestion(word, LEVELS);
      throw new MeshError('usage', `${flag}: "${part}" is not <scope>:<level> with a level of ${LEVELS.join(', ')}${hint}`);
    }
    levels.set(scope, level);
  }
  return levels;
}

/** Whether a message of `level` reaches the minimum that holds for `scope`. */
export function passes(levels: ScopeLevels, scope: string, level: Level): boolean {
  const minimum = levels.get(scope) ?? levels.get(DEFAULT_SCOPE) ?? 'info';
  return minimum !== 'none' && LEVELS.indexOf(level) >= LEVELS.indexOf(minimum);
}
