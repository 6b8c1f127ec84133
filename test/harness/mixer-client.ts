/** A client of Mixer: grpc-js, with messages that protobuf.js makes from a reading of the format of its own. */
import { type Client, credentials, loadPackageDefinition, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { GLOBAL_WORDS } from '../../src/mixs/attribute/global-words.ts';

/** Attributes by name; numbers are INT64, `{ ip }` the bytes of an address, `{ seconds }` a TIMESTAMP, `{ span }` a DURATION in seconds. */
export type ClientValue =
  | string
  | number
  | boolean
  | { readonly ip: readonly number[] }
  | { readonly seconds: number }
  | { readonly span: number }
  | { readonly map: Readonly<Record<string, string>> };

export interface CheckAnswer {
  readonly precondition: {
    readonly status: { readonly code: number; readonly message: string };
    readonly validDuration: { readonly seconds: number; readonly nanos: number };
    readonly validUseCount: number;
    readonly referencedAttributes: {
      readonly words: readonly string[];
      readonly attributeMatches: readonly { readonly name: number; readonly condition: string; readonly mapKey: number }[];
    };
    readonly routeDirective?: { readonly updateRequestHeaders: readonly { readonly name: string; readonly value: string }[] };
  };
  readonly quotas: Readonly<
    Record<string, { readonly grantedAmount: number; readonly validDuration: { readonly seconds: number } }>
  >;
}

interface MixerStub extends Client {
  Check(request: unknown, done: (error: ServiceError | null, answer: CheckAnswer) => void): void;
  Report(request: unknown, done: (error: ServiceError | null, answer: unknown) => void): void;
}

type Attributes = Readonly<Record<string, ClientValue>>;

export interface CheckOptions {
  readonly quotas?: Readonly<Record<string, { readonly amount: number; readonly bestEffort?: boolean }>>;
  readonly deduplicationId?: string;
  /** How many of the global words this client knows. */
  readonly globalWordCount?: number;
}

export class MixerClient {
  readonly #stub: MixerStub;

  constructor(port: number) {
    const definition = loadSync('mixer-client.proto', {
      includeDirs: ['test/harness/proto'],
      longs: Number,
      enums: String,
      defaults: false,
    });
    const root = loadPackageDefinition(definition) as unknown as {
      readonly istio: {
        readonly mixer: { readonly v1: { readonly Mixer: new (address: string, credentials: unknown) => MixerStub } };
      };
    };
    this.#stub = new root.istio.mixer.v1.Mixer(`127.0.0.1:${port}`, credentials.createInsecure());
  }

  check(attributes: Attributes, options: CheckOptions = {}): Promise<CheckAnswer> {
    const { quotas = {}, deduplicationId = '', globalWordCount = GLOBAL_WORDS.length } = options;
    const request = { attributes: compress(attributes, globalWordCount), globalWordCount, quotas, deduplicationId };
    return new Promise((resolve, reject) =>
      this.#stub.Check(request, (error, answer) => (error ? reject(error) : resolve(answer))),
    );
  }

  /** One report of several sets of attributes, each a change of the one before. */
  report(sets: readonly Attributes[]): Promise<void> {
    const request = { attributes: sets.map((set) => compress(set, GLOBAL_WORDS.length)), globalWordCount: GLOBAL_WORDS.length };
    return new Promise((resolve, reject) => this.#stub.Report(request, (error) => (error ? reject(error) : resolve())));
  }

  close(): void {
    this.#stub.close();
  }
}

/** The words of an answer's references. */
export function referencesOf({ precondition: { referencedAttributes } }: CheckAnswer): readonly string[] {
  const { words, attributeMatches } = referencedAttributes;
  const wordOf = (index: number): string => (index < 0 ? words[-index - 1] : GLOBAL_WORDS[index]) ?? '';
  return (attributeMatches ?? []).map(({ name, condition, mapKey = 0 }) =>
    [condition, wordOf(name ?? 0), ...(mapKey === 0 ? [] : [wordOf(mapKey)])].join(' '),
  );
}

function compress(attributes: Attributes, globalWordCount: number) {
  const words: string[] = [];
  const indexOf = (word: string): number => {
    const global = GLOBAL_WORDS.indexOf(word);
    if (global >= 0 && global < globalWordCount) return global;
    if (!words.includes(word)) words.push(word);
    return -words.indexOf(word) - 1;
  };
  const message = { words, strings: {}, int64s: {}, bools: {}, timestamps: {}, durations: {}, bytes: {}, stringMaps: {} };
  const put = (field: Exclude<keyof typeof message, 'words'>, name: string, value: unknown): void => {
    Object.assign(message[field], { [indexOf(name)]: value });
  };
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'string') put('strings', name, indexOf(value));
    else if (typeof value === 'number') put('int64s', name, value);
    else if (typeof value === 'boolean') put('bools', name, value);
    else if ('ip' in value) put('bytes', name, Buffer.from(value.ip));
    else if ('seconds' in value) put('timestamps', name, { seconds: value.seconds });
    else if ('span' in value) put('durations', name, { seconds: value.span });
    else {
      const entries = Object.fromEntries(Object.entries(value.map).map(([key, text]) => [indexOf(key), indexOf(text)]));
      put('stringMaps', name, { entries });
    }
  }
  return message;
}
