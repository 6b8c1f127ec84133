import { isLoopback } from '../../lib/address.ts';
import { MeshError } from '../../lib/errors.ts';
import { suggestion } from '../../lib/nearest.ts';
import type { HttpRequest, HttpResponse } from '../http/types.ts';
import { findLevel, LEVELS, type Level } from './levels.ts';
import type { LogScopes, ScopeChange } from './scopes.ts';

const PATH = '/scopez';
const FIELDS = ['outputLevel', 'stackTraceLevel', 'logCaller'];

/**
 * The levels of a component's log over HTTP: `GET /scopez` lists the scopes, `GET /scopez/<scope>` shows one, and PUT or POST
 * to it changes what its JSON names. Changes are taken from loopback alone, for whoever can silence a log can hide from it.
 * @returns undefined for other paths
 * @throws MeshError for an unknown scope, a change that makes no sense, or a caller from elsewhere
 */
export function scopesPage(scopes: LogScopes, request: HttpRequest): Promise<HttpResponse> | undefined {
  if (request.path === PATH) return answer(request, async () => scopes.list());
  if (!request.path.startsWith(`${PATH}/`)) return undefined;
  const name = request.path.slice(PATH.length + 1);
  return answer(
    request,
    async () => scopes.get(name),
    async () => {
      if (!isLoopback(request.remoteAddress))
        throw new MeshError('permission_denied', 'log levels are changed from this host alone, over 127.0.0.1 or ::1');
      scopes.get(name);
      return scopes.set(name, readChange((await request.body()).toString('utf8')));
    },
  );
}

async function answer(
  { method }: HttpRequest,
  read: () => Promise<unknown>,
  change?: () => Promise<unknown>,
): Promise<HttpResponse> {
  const headers = { 'content-type': 'application/json' };
  if (method === 'GET' || method === 'HEAD') return { status: 200, headers, body: json(await read()) };
  if (change !== undefined && (method === 'PUT' || method === 'POST'))
    return { status: 200, headers, body: json(await change()) };
  const allow = change === undefined ? 'GET, HEAD' : 'GET, HEAD, PUT, POST';
  const hint = change === undefined ? `; a level is changed at ${PATH}/<scope>` : '';
  return { status: 405, headers: { allow }, body: `${method} is not answered here; there are ${allow}${hint}\n` };
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** @throws MeshError `invalid` that says which field is wrong and what it may be */
function readChange(text: string): ScopeChange {
  const given = parseObject(text);
  const stranger = Object.keys(given).find((name) => !FIELDS.includes(name));
  if (stranger !== undefined)
    throw invalid(`there is no field "${stranger}"; the fields are ${FIELDS.join(', ')}${suggestion(stranger, FIELDS)}`);
  if (Object.keys(given).length === 0) throw invalid(`nothing is changed: give ${FIELDS.join(', ')} or some of them`);
  const { outputLevel, stackTraceLevel, logCaller } = given;
  return {
    ...(outputLevel === undefined ? {} : { outputLevel: requireLevel('outputLevel', outputLevel) }),
    ...(stackTraceLevel === undefined ? {} : { stackTraceLevel: requireLevel('stackTraceLevel', stackTraceLevel) }),
    ...(logCaller === undefined ? {} : { logCaller: requireBool('logCaller', logCaller) }),
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  const example = '{"outputLevel": "debug"}';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new MeshError('invalid', `the body is not JSON such as ${example}`, cause);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(`the body is not an object such as ${example}`);
  return Object.fromEntries(Object.entries(value));
}

function requireLevel(field: string, value: unknown): Level {
  const level = findLevel(value);
  if (level !== undefined) return level;
  const hint = typeof value === 'string' ? suggestion(value, LEVELS) : '';
  throw invalid(`${field}: ${JSON.stringify(value)} is not a level; the levels are ${LEVELS.join(', ')}${hint}`);
}

function requireBool(field: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw invalid(`${field}: ${JSON.stringify(value)} is neither true nor false`);
}

const invalid = (message: string): MeshError => new MeshError('invalid', message);
