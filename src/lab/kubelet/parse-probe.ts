import { seconds } from '../../lib/duration.ts';
import type { Fields } from './fields.ts';
import type { Exec, HttpGet, ProbeAction, ProbeSpec } from './pod-spec.ts';

/** Reads a startup, liveness or readiness probe, with Kubernetes' defaults; absent stays absent. */
export function parseProbe(probe: Fields | undefined): ProbeSpec | undefined {
  if (probe === undefined) return undefined;
  const action = parseAction(probe);
  if (action === undefined) return undefined;
  const atLeastOne = (name: string, otherwise: number): number => Math.max(1, probe.integer(name) ?? otherwise);
  return {
    action,
    initialDelay: seconds(Math.max(0, probe.integer('initialDelaySeconds') ?? 0)),
    period: seconds(atLeastOne('periodSeconds', 10)),
    timeout: seconds(atLeastOne('timeoutSeconds', 1)),
    successThreshold: atLeastOne('successThreshold', 1),
    failureThreshold: atLeastOne('failureThreshold', 3),
  };
}

function parseAction(probe: Fields): ProbeAction | undefined {
  const http = probe.optionalObject('httpGet');
  if (http !== undefined) return parseHttpGet(http);
  const tcp = probe.optionalObject('tcpSocket');
  if (tcp !== undefined) return { type: 'tcpSocket', host: tcp.string('host'), port: portOf(tcp) };
  const exec = probe.optionalObject('exec');
  if (exec !== undefined) return parseExec(exec);
  probe.problem('', 'the lab knows httpGet, tcpSocket and exec probes');
  return undefined;
}

/** An `httpGet` of a probe or a hook. */
export function parseHttpGet(http: Fields): HttpGet {
  const headers = http
    .list('httpHeaders')
    .map((header) => ({ name: header.requiredString('name'), value: header.string('value') ?? '' }));
  const scheme = http.string('scheme')?.toUpperCase() === 'HTTPS' ? 'HTTPS' : 'HTTP';
  return { type: 'httpGet', host: http.string('host'), port: portOf(http), path: http.string('path') ?? '/', scheme, headers };
}

/** An `exec` of a probe or a hook. */
export function parseExec(exec: Fields): Exec {
  return { type: 'exec', command: exec.strings('command') ?? [] };
}

function portOf(action: Fields): number | string {
  const port = action.port('port');
  if (port === undefined && !action.has('port')) action.problem('port', 'is missing');
  return port ?? 0;
}
