import { MeshError } from '../../lib/errors.ts';
import { DEFAULT_SCOPE, type Level, type ScopeLevels, unknownScope } from './levels.ts';

/** What holds for a scope at the moment. */
export interface ScopeState {
  readonly name: string;
  readonly outputLevel: Level;
  readonly stackTraceLevel: Level;
  readonly logCaller: boolean;
}

export type ScopeChange = Partial<Omit<ScopeState, 'name'>>;

export interface InitialScopes {
  readonly names: readonly string[];
  readonly output: ScopeLevels;
  readonly stack: ScopeLevels;
  readonly callers: ReadonlySet<string>;
}

/** The scopes of a component and their levels, which can be changed while it runs. */
export class LogScopes {
  readonly names: readonly string[];
  readonly #output: Map<string, Level>;
  readonly #stack: Map<string, Level>;
  readonly #callers: Set<string>;

  constructor({ names, output, stack, callers }: InitialScopes) {
    this.names = names;
    this.#output = new Map(output);
    this.#stack = new Map(stack);
    this.#callers = new Set(callers);
  }

  /** @throws MeshError `not_found` that lists the scopes there are */
  get(name: string): ScopeState {
    if (!this.names.includes(name)) throw new MeshError('not_found', unknownScope(name, this.names));
    return {
      name,
      outputLevel: this.outputLevel(name),
      stackTraceLevel: this.stackTraceLevel(name),
      logCaller: this.logsCaller(name),
    };
  }

  list(): readonly ScopeState[] {
    return this.names.map((name) => this.get(name));
  }

  /** Changes what is given; scopes without a level of their own follow that of `default`. @throws as `get` */
  set(name: string, { outputLevel, stackTraceLevel, logCaller }: ScopeChange): ScopeState {
    this.get(name);
    if (outputLevel !== undefined) this.#output.set(name, outputLevel);
    if (stackTraceLevel !== undefined) this.#stack.set(name, stackTraceLevel);
    if (logCaller === true) this.#callers.add(name);
    if (logCaller === false) this.#callers.delete(name);
    return this.get(name);
  }

  outputLevel(name: string): Level {
    return this.#output.get(name) ?? this.#output.get(DEFAULT_SCOPE) ?? 'info';
  }

  stackTraceLevel(name: string): Level {
    return this.#stack.get(name) ?? this.#stack.get(DEFAULT_SCOPE) ?? 'none';
  }

  logsCaller(name: string): boolean {
    return this.#callers.has(name);
  }
}
