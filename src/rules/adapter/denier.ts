import { type Duration, seconds } from '../../lib/duration.ts';
import { RPC_CODES } from '../../lib/rpc-code.ts';
import { defineAdapter, SCHEMA } from './define.ts';

export interface DenierParams {
  readonly code: number;
  readonly message: string;
  /** How long, and how often, a client may take the refusal as an answer. */
  readonly validDuration: Duration;
  readonly validUseCount: number;
}

const MAX_USES = 2 ** 31 - 1;

/** Refuses whatever it is asked. */
export const denier = defineAdapter<DenierParams>({
  name: 'denier',
  description: 'Refuses every request that a rule sends to it, with a code and a message',
  templates: ['checknothing', 'listentry', 'quota'],
  schema: SCHEMA.object({
    status: SCHEMA.object({
      code: { type: 'integer', minimum: 1, maximum: 16, description: 'a google.rpc.Code; default 9, FAILED_PRECONDITION' },
      message: SCHEMA.text,
    }),
    validDuration: { ...SCHEMA.duration, description: 'how long clients may remember the refusal; default 5s' },
    validUseCount: { ...SCHEMA.count, description: 'for how many requests; default 1000' },
  }),
  read: (fields) => {
    fields.noOthers(['status', 'validDuration', 'validUseCount']);
    const status = fields.object('status');
    status.noOthers(['code', 'message']);
    return {
      code: status.wholeNumber('code', 1, RPC_CODES.UNAUTHENTICATED) ?? RPC_CODES.FAILED_PRECONDITION,
      message: status.text('message') ?? '',
      validDuration: fields.duration('validDuration') ?? seconds(5),
      validUseCount: fields.wholeNumber('validUseCount', 0, MAX_USES) ?? 1000,
    };
  },
});
