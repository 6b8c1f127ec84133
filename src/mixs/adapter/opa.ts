import { MeshError } from '../../lib/errors.ts';
import { RPC_CODES } from '../../lib/rpc-code.ts';
import type { OpaParams } from '../../rules/adapter/opa.ts';
import type { TypedValue } from '../../rules/attribute/value.ts';
import type { Instances } from '../../rules/template/instances.ts';
import { postJson } from '../telemetry/post-json.ts';
import type { AdapterEnvironment, CheckResult, Handler } from './adapter.ts';
import { jsonOf } from './value-text.ts';

/** Requests that wait for the server; more would only wait longer. */
const MAX_WAITING = 1_000;

/** Lets an Open Policy Agent decide (https://www.openpolicyagent.org/docs/rest-api, Data API). */
export function openOpa(params: OpaParams, { handler, logger }: AdapterEnvironment): Handler {
  const { serverUrl, path, deadline, failClose, validDuration } = params;
  const url = `${serverUrl}/v1/data/${path}`;
  let waiting = 0;
  let isDown = false;

  const undecided = (reason: string, isOver = false): CheckResult => {
    // A request that its client has given up says nothing of the server.
    if (isOver) return { status: { code: RPC_CODES.CANCELLED, message: reason }, validMs: 0, validUses: 0 };
    if (!isDown) logger.warn('OPA decides nothing', { handler, url, reason, failClose });
    isDown = true;
    const status = failClose
      ? { code: RPC_CODES.UNAVAILABLE, message: 'the policy server gives no decision' }
      : { code: RPC_CODES.OK, message: '' };
    // Nobody is to remember what nobody has decided.
    return { status, validMs: 0, validUses: 0 };
  };

  const decided = (allow: boolean, input: object): CheckResult => {
    if (isDown) logger.info('OPA decides again', { handler, url });
    isDown = false;
    logger.debug('OPA has decided', { handler, allow, input });
    const status = allow
      ? { code: RPC_CODES.OK, message: '' }
      : { code: RPC_CODES.PERMISSION_DENIED, message: 'refused by policy' };
    return { status, validMs: validDuration, validUses: Number.POSITIVE_INFINITY };
  };

  return {
    check: async (instance, { signal }) => {
      if (instance.template !== 'authorization') return undecided(`there is nothing to decide on in ${instance.template}`);
      if (waiting >= MAX_WAITING) return undecided(`${MAX_WAITING} requests wait already`);
      waiting++;
      const input = inputOf(instance.values);
      try {
        const allow = decisionOf(await postJson(url, JSON.stringify({ input }), deadline, signal));
        return allow === undefined ? undecided('there is no boolean at the path') : decided(allow, input);
      } catch (thrown) {
        return undecided(MeshError.from(thrown).message, signal.aborted);
      } finally {
        waiting--;
      }
    },
    close: async () => {},
  };
}

function inputOf({ subject, action }: Instances['authorization']): object {
  return {
    subject: { ...subject, properties: valuesOf(subject.properties) },
    action: { ...action, properties: valuesOf(action.properties) },
  };
}

function valuesOf(properties: Readonly<Record<string, TypedValue>>): object {
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, jsonOf(value)]));
}

/** The boolean in an answer, bare or as `allow`; an undefined decision has no result at all. */
function decisionOf(answer: string): boolean | undefined {
  const parsed: unknown = JSON.parse(answer);
  const result = fieldOf(parsed, 'result');
  const allow = typeof result === 'boolean' ? result : fieldOf(result, 'allow');
  return typeof allow === 'boolean' ? allow : undefined;
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? Object.entries(value).find(([name]) => name === field)?.[1] : undefined;
}
