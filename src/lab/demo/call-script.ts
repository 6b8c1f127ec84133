import { quote } from '../kubelet/container-script.ts';
import type { Call, CallResult } from './cells.ts';
import type { MintedToken } from './tokens.ts';
import { hostOf } from './topology.ts';

/** Calls of one client that run at the same time. */
const PARALLEL = 9;
/** Longer than any answer takes; a call that hangs must not hang the scenario. */
const MAX_SECONDS = 10;

/**
 * The shell program by which a client makes its calls, each by a curl of its own, over a connection of its own. It prints a
 * line `INDEX EXIT BODY STATUS` for each, the body on one line.
 */
export function callScript(calls: readonly Call[], tokens: ReadonlyMap<MintedToken, string>): string {
  const lines = calls.map((call, index) => {
    const token = call.token === 'none' ? undefined : tokens.get(call.token);
    const header = token === undefined ? '' : ` -H ${quote(`Authorization: Bearer ${token}`)}`;
    return `call ${index} http://${hostOf(call.target)}:${call.target.port}/headers${header} &`;
  });
  const paced = lines.flatMap((line, index) => (index % PARALLEL === PARALLEL - 1 ? [line, 'wait'] : [line]));
  return `call() {
  index=$1; shift
  answer=$(curl -s -w '\\n%{http_code}' --max-time ${MAX_SECONDS} "$@"); exit=$?
  printf '%s %s %s\\n' "$index" "$exit" "$(printf %s "$answer" | tr '\\n' ' ')"
}
${paced.join('\n')}
wait
`;
}

/** Reads what the program printed; a call that left no line has no result. */
export function parseCallOutput(text: string): ReadonlyMap<number, CallResult> {
  return new Map(
    text.split('\n').flatMap((line): [number, CallResult][] => {
      const match = /^(\d+) (\d+) (.*?) ?(\d{3})$/.exec(line);
      if (match === null) return [];
      const [, index, exit, body = '', status] = match;
      const peerCertificate = /"X-Forwarded-Client-Cert": *"([^"]*)"/i.exec(body)?.[1];
      return [[Number(index), { outcome: { status: Number(status), exit: Number(exit) }, peerCertificate }]];
    }),
  );
}
