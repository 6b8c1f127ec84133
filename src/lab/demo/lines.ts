import type { Cell } from './cells.ts';
import { formatOutcome, formatOutcomes } from './outcome.ts';
import { TOKEN_TITLES, TOKENS } from './tokens.ts';
import { hostOf, type Namespace } from './topology.ts';

/** The calls to one server that have come to the same, by client. */
export interface Line {
  readonly host: string;
  readonly ports: readonly number[];
  /** What the calls carried; empty where only calls without a token were made. */
  readonly tokens: readonly string[];
  readonly cells: ReadonlyMap<Namespace, Cell>;
}

export function isWrong({ problems }: Cell): boolean {
  return problems.length > 0;
}

/** Lines that differ only in the token become one, then those that differ only in the port. */
export function compactLines(cells: readonly Cell[]): readonly Line[] {
  const tried = new Set(cells.filter(({ token }) => token !== 'none').map(({ target }) => hostOf(target)));
  const groups = Map.groupBy(cells, ({ target, token }) => `${hostOf(target)} ${target.port} ${token}`);
  const lines = [...groups.values()].flatMap(([first, ...others]): Line[] => {
    if (first === undefined) return [];
    const host = hostOf(first.target);
    const tokens = tried.has(host) ? [TOKEN_TITLES[first.token]] : [];
    return [{ host, ports: [first.target.port], tokens, cells: new Map([first, ...others].map((cell) => [cell.client, cell])) }];
  });
  const byToken = merge(lines, ({ host, ports }) => `${host} ${ports.join()}`);
  return merge(byToken, ({ host, tokens }) => `${host} ${tokens.join()}`);
}

/** Merges lines of one group that have come to the same, in the place of the first. */
function merge(lines: readonly Line[], groupOf: (line: Line) => string): readonly Line[] {
  const groups = Map.groupBy(lines, (line) => [groupOf(line), ...[...line.cells.values()].map(textOf)].join('\n'));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const given = new Set(group.flatMap(({ tokens }) => tokens));
    const tokens = TOKENS.map((token) => TOKEN_TITLES[token]).filter((title) => given.has(title));
    return [{ ...first, ports: [...new Set(group.flatMap(({ ports }) => ports))], tokens }];
  });
}

function textOf(cell: Cell): string {
  return [formatOutcomes(cell.expected), formatOutcome(cell.got), isWrong(cell)].join(' ');
}
