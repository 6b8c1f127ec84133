import { type SessionParameters, type ValidateSessionResponse_Problem, ValueType } from '#gen/mesh/adapter/v1/adapter.ts';
import { MeshError } from '../../lib/errors.ts';
import type { GrpcAdapterParams } from '../../rules/adapter/grpcadapter.ts';
import { type AdapterMethod, METHODS } from './grpc-methods.ts';
import { shown } from './shown-text.ts';

export type SessionState =
  | { readonly kind: 'none' }
  | { readonly kind: 'open'; readonly id: string }
  /** The adapter does not take the parameters. */
  | { readonly kind: 'refused'; readonly reason: string };

type Call = <Req, Res>(method: AdapterMethod<Req, Res>, request: Req) => Promise<Res>;

const MAX_ID_BYTES = 256;
const MAX_PROBLEMS = 10;

/** What an adapter is told of a handler. */
export function sessionParameters(handler: string, { params, instances }: GrpcAdapterParams): SessionParameters {
  return {
    handler,
    params: { ...params },
    instances: instances.map(({ name, template, types }) => ({
      name,
      template,
      types: Object.fromEntries(Object.entries(types).map(([path, type]) => [path, ValueType[`VALUE_TYPE_${type}`]])),
    })),
  };
}

/** A handler's session with an adapter; there is one at a time. */
export class AdapterSession {
  readonly #parameters: SessionParameters;
  readonly #call: Call;
  #state: SessionState = { kind: 'none' };
  #opening: Promise<string> | undefined;

  /** `call` bounds every call by itself. */
  constructor(parameters: SessionParameters, call: Call) {
    this.#parameters = parameters;
    this.#call = call;
  }

  get state(): SessionState {
    return this.#state;
  }

  /**
   * Opens the session, or waits for whoever does; gives its id. Rejects with a MeshError: `invalid` where the adapter refuses the
   * parameters, which `state` tells too.
   */
  open(): Promise<string> {
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** The adapter knows the session no longer. */
  forget(id: string): void {
    if (this.#state.kind === 'open' && this.#state.id === id) this.#state = { kind: 'none' };
  }

  /** Tells the adapter. What the adapter makes of it is its own affair. */
  async close(): Promise<void> {
    await this.#opening?.catch(() => {});
    const state = this.#state;
    this.#state = { kind: 'none' };
    if (state.kind === 'open') await this.#call(METHODS.closeSession, { sessionId: state.id }).catch(() => {});
  }

  async #open(): Promise<string> {
    if (this.#state.kind === 'open') return this.#state.id;
    try {
      await this.#validate();
      const { sessionId } = await this.#call(METHODS.createSession, { parameters: this.#parameters });
      const length = Buffer.byteLength(sessionId);
      if (length === 0 || length > MAX_ID_BYTES)
        throw new MeshError('internal', `the adapter gives a session id of ${length} bytes; it must have 1 to ${MAX_ID_BYTES}`);
      this.#state = { kind: 'open', id: sessionId };
      return sessionId;
    } catch (thrown) {
      const error = MeshError.from(thrown);
      this.#state = error.code === 'invalid' ? { kind: 'refused', reason: error.message } : { kind: 'none' };
      throw error;
    }
  }

  async #validate(): Promise<void> {
    const { problems } = await this.#call(METHODS.validateSession, { parameters: this.#parameters }).catch((error: MeshError) => {
      if (error.code === 'unimplemented') return { problems: [] };
      throw error;
    });
    if (problems.length > 0) throw new MeshError('invalid', problems.slice(0, MAX_PROBLEMS).map(textOf).join('; '));
  }
}

function textOf({ path, message }: ValidateSessionResponse_Problem): string {
  return shown(path === '' ? message : `${path}: ${message}`);
}
