import type { CallFailure } from './call-record.ts';
import type { Cell } from './cells.ts';
import { isWrong } from './lines.ts';
import { formatOutcome, formatOutcomes } from './outcome.ts';
import type { Paint } from './paint.ts';
import type { Change, Step } from './steps.ts';
import { renderTable } from './table.ts';
import { TOKEN_TITLES } from './tokens.ts';
import { hostOf } from './topology.ts';
import type { ScenarioResult, StepResult } from './walk.ts';

/** A step that begins, and the changes that it begins with. */
export function renderHeading({ name, title, changes }: Step, paint: Paint): string {
  return [
    paint.strong(`STEP ${name.padEnd(3)} ${title}`),
    ...changes.map((change) => paint.faint(`  ${renderChange(change)}`)),
  ].join('\n');
}

/** A finished step: the table, what is wrong, and the proofs. */
export function renderStep({ step, times, cells, mutualTls, background }: StepResult, paint: Paint): string {
  const inForce =
    step.changes.length === 0
      ? []
      : [`acknowledged by every proxy after ${times.acknowledgedMs} ms, older connections drained after ${times.drainedMs} ms`];
  const identified = cells.filter(({ peer }) => peer !== undefined).length;
  return [
    ...inForce.map(paint.faint),
    '',
    ...renderTable(cells, paint),
    ...cells.filter(isWrong).flatMap((cell) => renderProblems(cell, paint)),
    '',
    verdict(
      mutualTls.problems.length === 0,
      `mutual TLS: ${mutualTls.requests} requests between sidecars, ${mutualTls.handshakes} TLS handshakes on ${mutualTls.connections} connections;` +
        ` ${identified} answers show the caller's SPIFFE ID`,
      paint,
    ),
    ...mutualTls.problems.map((problem) => `     ${paint.bad(problem)}`),
    verdict(
      mutualTls.plaintext === mutualTls.plaintextExpected,
      `plaintext:  ${mutualTls.plaintext} connections at sidecars for ${mutualTls.plaintextExpected} answered calls from legacy`,
      paint,
    ),
    verdict(
      background.failed === 0,
      `meanwhile:  ${background.calls} calls from foo in the background, ${background.failed} failed`,
      paint,
    ),
  ]
    .map((line) => (line === '' ? '' : `  ${line}`))
    .join('\n');
}

/** The last lines of the demo. */
export function renderSummary({ steps, background, failures, ok }: ScenarioResult, paint: Paint): string {
  const cells = steps.flatMap((step) => step.cells);
  const checked = `${steps.length} steps, ${cells.length} calls checked, ${cells.filter(isWrong).length} not as specified`;
  const counts = `${checked}; ${background.calls} background calls, ${background.failed} failed`;
  const verdictLine = ok ? paint.good(`PASSED  ${counts}`) : paint.bad(`FAILED  ${counts}`);
  return ['', ...failures.map((failure) => paint.bad(renderFailure(failure))), verdictLine].join('\n');
}

/** As a user would type it in examples/reference. */
function renderChange(change: Change): string {
  return change.type === 'apply'
    ? `$ mesh meshctl apply -f policies/${change.file}`
    : `$ mesh meshctl delete policy ${change.name} -n ${change.namespace}`;
}

function renderFailure({ status, url, connection, at, after, afterMs }: CallFailure): string {
  const code = `${status}`.padStart(3, '0');
  return `background call failed: ${code} ${url} (${connection} connection) at ${at.toISOString()}, ${afterMs} ms after ${after}`;
}

function renderProblems(cell: Cell, paint: Paint): readonly string[] {
  const call = `${cell.client} -> ${hostOf(cell.target)}:${cell.target.port}, ${TOKEN_TITLES[cell.token]}`;
  const compared = `expected ${formatOutcomes(cell.expected)}, got ${formatOutcome(cell.got)}`;
  return cell.problems.map((problem) => paint.bad(`WRONG  ${call}: ${compared}; ${problem}`));
}

function verdict(good: boolean, text: string, paint: Paint): string {
  return `${good ? paint.good('ok ') : paint.bad('BAD')}  ${text}`;
}
