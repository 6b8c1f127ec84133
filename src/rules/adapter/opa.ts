import { type Duration, milliseconds, seconds } from '../../lib/duration.ts';
import { urlProblem } from './back-end-url.ts';
import { defineAdapter, SCHEMA } from './define.ts';

export interface OpaParams {
  /** Of the REST API, without a slash at its end. */
  readonly serverUrl: string;
  /** Of the decision below /v1/data: `mesh/allow`. */
  readonly path: string;
  readonly deadline: Duration;
  /** Whether a request is refused where there is no decision. */
  readonly failClose: boolean;
  /** How long a client may remember a decision. */
  readonly validDuration: Duration;
}

const PATH = /^[A-Za-z_][A-Za-z0-9_]*(\/[A-Za-z_][A-Za-z0-9_]*)*$/;

/** Asks an Open Policy Agent. */
export const opa = defineAdapter<OpaParams>({
  name: 'opa',
  description: 'Asks an Open Policy Agent server whether a request is allowed',
  templates: ['authorization'],
  schema: SCHEMA.object(
    {
      serverUrl: { ...SCHEMA.text, description: 'of the OPA server: http://opa:8181' },
      path: { ...SCHEMA.text, description: 'of a boolean, or of an object with a boolean allow, below /v1/data: mesh/allow' },
      deadline: { ...SCHEMA.duration, description: 'for an answer, at most 5s; default 1s' },
      failClose: { ...SCHEMA.flag, description: 'whether to refuse requests that the server does not decide; default true' },
      validDuration: { ...SCHEMA.duration, description: 'how long clients may remember a decision; default 5s' },
      policy: { ...SCHEMA.list(SCHEMA.text), description: 'refused: policies belong into the server' },
    },
    ['serverUrl', 'path'],
  ),
  read: (fields) => {
    fields.noOthers(['serverUrl', 'path', 'deadline', 'failClose', 'validDuration', 'policy']);
    if (fields.has('policy'))
      fields.refuse(
        'policy',
        'policies are not evaluated here; load them into an OPA server, and name it with serverUrl and path',
      );
    const deadline = fields.duration('deadline') ?? seconds(1);
    if (deadline < milliseconds(10) || deadline > seconds(5)) fields.refuse('deadline', 'must be from 10ms to 5s');
    const wrongPath = (path: string): string | undefined =>
      PATH.test(path) ? undefined : `"${path}" is no path such as mesh/allow`;
    return {
      serverUrl: fields.checkedText('serverUrl', urlProblem).replace(/\/+$/, ''),
      path: fields.checkedText('path', wrongPath),
      deadline,
      failClose: fields.boolean('failClose') ?? true,
      validDuration: fields.duration('validDuration') ?? seconds(5),
    };
  },
});
