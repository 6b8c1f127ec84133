import { Profile } from '#gen/perftools/profiles/profile.ts';

/** Where code stands, as V8 tells it: lines from 0, -1 where there is none. */
export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** What a value counts, such as `cpu` in `nanoseconds`. */
export interface Quantity {
  readonly type: string;
  readonly unit: string;
}

export interface PprofHead {
  /** One for each value of a sample. */
  readonly quantities: readonly Quantity[];
  readonly takenAt: Date;
  readonly durationNanos: number;
  /** What one sample stands for on average. */
  readonly period: Quantity & { readonly value: number };
}

/** Collects samples into a profile of `go tool pprof`: https://github.com/google/pprof/blob/main/proto/profile.proto. */
export class PprofBuilder {
  readonly #texts = new Map<string, number>([['', 0]]);
  readonly #functions = new Map<string, number>();
  readonly #profile: Profile;

  constructor({ quantities, takenAt, durationNanos, period }: PprofHead) {
    this.#profile = Profile.fromPartial({
      sampleType: quantities.map((quantity) => this.#valueType(quantity)),
      timeNanos: takenAt.getTime() * 1e6,
      durationNanos,
      periodType: this.#valueType(period),
      period: period.value,
    });
  }

  /** Adds a stack, the leaf first, with a whole number for each quantity. */
  add(stack: readonly CallFrame[], values: readonly number[]): void {
    this.#profile.sample.push({ locationId: stack.map((frame) => this.#location(frame)), value: [...values] });
  }

  build(): Profile {
    return { ...this.#profile, stringTable: [...this.#texts.keys()] };
  }

  /** V8 knows the line that a function begins at: a location stands for a whole function, and has its id. */
  #location({ functionName, url, lineNumber }: CallFrame): number {
    const key = `${functionName}\n${url}\n${lineNumber}`;
    const known = this.#functions.get(key);
    if (known !== undefined) return known;
    const id = this.#functions.size + 1;
    this.#functions.set(key, id);
    const name = this.#text(functionName === '' ? '(anonymous)' : functionName);
    const line = Math.max(0, lineNumber + 1);
    this.#profile.function.push({ id, name, systemName: name, filename: this.#text(pathOf(url)), startLine: line });
    this.#profile.location.push({ id, line: [{ functionId: id, line }] });
    return id;
  }

  #valueType({ type, unit }: Quantity): { type: number; unit: number } {
    return { type: this.#text(type), unit: this.#text(unit) };
  }

  #text(text: string): number {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    this.#texts.set(text, this.#texts.size);
    return this.#texts.size - 1;
  }
}

function pathOf(url: string): string {
  if (!url.startsWith('file://')) return url;
  try {
    return decodeURIComponent(new URL(url).pathname);
  } catch {
    return url;
  }
}
