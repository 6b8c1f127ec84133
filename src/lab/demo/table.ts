import type { Cell } from './cells.ts';
import { compactLines, isWrong, type Line } from './lines.ts';
import { formatOutcome, formatOutcomes } from './outcome.ts';
import type { Paint } from './paint.ts';
import { NAMESPACES } from './topology.ts';

const EXPECTED_WIDTH = 9;
const GOT_WIDTH = 7;
const GAP = '   ';
/** Longer lists of tokens go on in the next line. */
const TOKENS_WIDTH = 34;

/** Every pair of a step with what was expected and what it got, one text a line. */
export function renderTable(cells: readonly Cell[], paint: Paint): readonly string[] {
  const lines = compactLines(cells);
  const hostWidth = Math.max(...lines.map((line) => serverOf(line).length));
  const hasTokens = lines.some(({ tokens }) => tokens.length > 0);
  const label = (host: string, tokens: string): string =>
    `${host.padEnd(hostWidth)}${hasTokens ? `  ${tokens.padEnd(TOKENS_WIDTH)}` : ''}`;
  const clients = NAMESPACES.map((client) => `${GAP}${`from ${client}`.padEnd(EXPECTED_WIDTH + GOT_WIDTH + 1)}`).join('');
  const columns = NAMESPACES.map(() => `${GAP}${'expected'.padEnd(EXPECTED_WIDTH)} ${'got'.padEnd(GOT_WIDTH)}`).join('');
  return [
    paint.faint(`${label('', '')}${clients}`.trimEnd()),
    paint.faint(`${label('to', hasTokens ? 'with' : '')}${columns}`.trimEnd()),
    ...lines.flatMap((line) => {
      const [first = '', ...more] = wrap(line.tokens);
      const cellsText = NAMESPACES.map((client) => renderCell(line.cells.get(client), paint)).join('');
      return [`${label(serverOf(line), first)}${cellsText}`.trimEnd(), ...more.map((tokens) => label('', tokens).trimEnd())];
    }),
  ];
}

function serverOf({ host, ports }: Line): string {
  return `${host} ${ports.join(' ')}`;
}

function renderCell(cell: Cell | undefined, paint: Paint): string {
  if (cell === undefined) return `${GAP}${' '.repeat(EXPECTED_WIDTH + 1 + GOT_WIDTH)}`;
  const got = formatOutcome(cell.got);
  const pad = ' '.repeat(Math.max(0, GOT_WIDTH - got.length));
  const painted = isWrong(cell) ? paint.bad(got) : paint.good(got);
  return `${GAP}${formatOutcomes(cell.expected).padEnd(EXPECTED_WIDTH)} ${painted}${pad}`;
}

function wrap(words: readonly string[]): readonly string[] {
  const lines: string[] = [];
  for (const [index, word] of words.entries()) {
    const text = index === words.length - 1 ? word : `${word},`;
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + text.length <= TOKENS_WIDTH) lines[lines.length - 1] = `${last} ${text}`;
    else lines.push(text);
  }
  return lines;
}
