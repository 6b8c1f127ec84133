import type { CallFailure } from './call-record.ts';
import type { Cell } from './cells.ts';
import { formatOutcome, formatOutcomes } from './outcome.ts';
import type { Paint } from './paint.ts';
import type { Step } from './steps.ts';
import { TOKEN_TITLES, TOKENS } from './tokens.ts';
import { hostOf, NAMESPACES, type Namespace } from './topology.ts';
import type { ScenarioResult, StepResult } from './walk.ts';

/** Calls to one server with one kind of token, by client; then the lines that have come to the same, as one. */
interface Line {
  readonly host: string;
  readonly ports: readonly number[];
  readonly tokens: readonly string[];
  readonly cells: ReadonlyMap<Namespace, Cell>;
}

const EXPECTED_WIDTH = 9;
const GOT_WIDTH = 8;

export function renderHeading({ name, title }: Step, paint: Paint): string {
  return paint.strong(`STEP ${name.padEnd(3)}${title}`);
}

/** The table of a finished step: what was changed, every pair with what was expected and got, and the proofs. */
export function renderStep({ step, inForceMs, cells, mutualTls, background }: StepResult, paint: Paint): string {
  const lines = compact(cells);
  const labels = lines.map(labelOf);
  const width = Math.max(...labels.map(({ length }) => length), 'to'.length);
  const heads = NAMESPACES.map((client) => `  ${`from ${client}`.padEnd(EXPECTED_WIDTH + GOT_WIDTH + 1)}`).join('');
  const subheads = NAMESPACES.map(() => `  ${'expected'.padEnd(EXPECTED_WIDTH)} ${'got'.padEnd(GOT_WIDTH)}`).join('');
  const changes = step.changes.map((change) =>
    change.type === 'apply'
      ? `meshctl apply -f policies/${change.file}`
      : `meshctl delete policy ${change.name} -n ${change.namespace}`,
  );
  const inForce = changes.length === 0 ? [] : [paint.faint(`in force at every proxy after ${inForceMs} ms`)];
  const answered = cells.filter(({ peer }) => peer !== undefined).length;
  return [
    ...changes.map((change) => paint.faint(`$ ${change}`)),
    ...inForce,
    '',
    paint.faint(`${' '.repeat(width)}${heads}`.trimEnd()),
    paint.faint(`${'to'.padEnd(width)}${subheads}`.trimEnd()),
    ...lines.map((line, index) => `${(labels[index] ?? '').padEnd(width)}${renderCells(line, paint)}`.trimEnd()),
    ...cells.filter(isWrong).flatMap((cell) => renderProblems(cell, paint)),
    '',
    verdict(
      mutualTls.problems,
      `mutual TLS    ${mutualTls.requests} requests between sidecars; ${mutualTls.handshakes} handshakes on their ${mutualTls.connections} connections; ${answered} answers whose server saw the client's SPIFFE ID`,
      paint,
    ),
    verdict(
      [],
      `plaintext     ${mutualTls.plaintext} connections at sidecars, ${mutualTls.plaintextExpected} answered calls from legacy`,
      paint,
      mutualTls.plaintext === mutualTls.plaintextExpected,
    ),
    verdict(
      [],
      `in between    ${background.calls} background calls from foo, ${background.failed} failed`,
      paint,
      background.failed === 0,
    ),
    '',
  ]
    .map((line) => (line === '' ? '' : `  ${line}`))
    .join('\n');
}

/** The last lines of the demo. */
export function renderSummary({ steps, background, failures, ok }: ScenarioResult, paint: Paint): string {
  const cells = steps.flatMap((step) => step.cells);
  const wrong = cells.filter(isWrong).length;
  const counts = `${steps.length} steps, ${cells.length} calls checked, ${wrong} not as specified; ${background.calls} background calls, ${background.failed} failed`;
  return [
    ...failures.map((failure) => paint.bad(renderFailure(failure))),
    ok ? paint.good(`PASSED  ${counts}`) : paint.bad(`FAILED  ${counts}`),
  ].join('\n');
}

function renderFailure({ status, url, connection, at, after, afterMs }: CallFailure): string {
  const code = `${status}`.padStart(3, '0');
  return `background call failed: ${code} ${url} (${connection} connection) at ${at.toISOString()}, ${afterMs} ms after ${after}`;
}

function verdict(problems: readonly string[], text: string, paint: Paint, good = problems.length === 0): string {
  const line = `${good ? paint.good('ok ') : paint.bad('BAD')} ${text}`;
  return [line, ...problems.map((problem) => `  ${paint.bad(problem)}`)].join('\n  ');
}

function isWrong({ problems }: Cell): boolean {
  return problems.length > 0;
}

function renderProblems(cell: Cell, paint: Paint): readonly string[] {
  const call = `${cell.client} -> ${hostOf(cell.target)}:${cell.target.port}, ${TOKEN_TITLES[cell.token]}`;
  const compared = `expected ${formatOutcomes(cell.expected)}, got ${formatOutcome(cell.got)}`;
  return cell.problems.map((problem) => paint.bad(`WRONG  ${call}: ${compared}; ${problem}`));
}

function renderCells({ cells }: Line, paint: Paint): string {
  return NAMESPACES.map((client) => {
    const cell = cells.get(client);
    if (cell === undefined) return `  ${' '.repeat(EXPECTED_WIDTH + 1 + GOT_WIDTH)}`;
    const got = formatOutcome(cell.got).padEnd(GOT_WIDTH - 1);
    const mark = isWrong(cell) ? '!' : ' ';
    return `  ${formatOutcomes(cell.expected).padEnd(EXPECTED_WIDTH)} ${(isWrong(cell) ? paint.bad : paint.good)(`${got}${mark}`)}`;
  }).join('');
}

function labelOf({ host, ports, tokens }: Line): string {
  return `${host} ${ports.join(' ')}${tokens.length === 0 ? '' : `  ${tokens.join(', ')}`}`;
}

/** Lines that differ only in the token become one, then those that differ only in the port. */
function compact(cells: readonly Cell[]): readonly Line[] {
  const tried = new Set(cells.filter(({ token }) => token !== 'none').map(({ target }) => hostOf(target)));
  const single = Map.groupBy(cells, ({ target, token }) => `${hostOf(target)} ${target.port} ${token}`);
  const lines = [...single.values()].map(([first, ...others]): Line => {
    const all = first === undefined ? [] : [first, ...others];
    const host = first === undefined ? '' : hostOf(first.target);
    return {
      host,
      ports: first === undefined ? [] : [first.target.port],
      tokens: first === undefined || !tried.has(host) ? [] : [TOKEN_TITLES[first.token]],
      cells: new Map(all.map((cell) => [cell.client, cell])),
    };
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
    const titles = TOKENS.map((token) => TOKEN_TITLES[token]);
    const tokens = new Set(group.flatMap((line) => line.tokens));
    return [
      { ...first, ports: [...new Set(group.flatMap(({ ports }) => ports))], tokens: titles.filter((title) => tokens.has(title)) },
    ];
  });
}

function textOf(cell: Cell): string {
  return [formatOutcomes(cell.expected), formatOutcome(cell.got), isWrong(cell)].join(' ');
}
