/** The sample of a gRPC adapter (examples/grpc-adapter): a program in Go, behind mesh.adapter.v1. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { grpcAdapterPath } from '../../setup/grpc-adapter.ts';
import { BackendProcess } from './backend.ts';

/** For a `before` hook: the program, or a skipped suite where the set-up could not build it. In CI nothing is skipped. */
export function requireGrpcAdapter(context: Mocha.Context): string {
  const path = grpcAdapterPath(process.env);
  if (!existsSync(path)) {
    if ((process.env['CI'] ?? '') !== '') throw new Error('the sample of a gRPC adapter is missing; run npm run setup');
    context.skip();
  }
  return path;
}

export class SampleAdapter extends BackendProcess {
  constructor(path: string, port: number, flags: readonly string[] = []) {
    super({ path, env: {} }, port, (directory) => [
      '-address',
      `127.0.0.1:${port}`,
      '-reports',
      join(directory, 'reports.jsonl'),
      ...flags,
    ]);
  }

  /** The reports that it has written, each life's after those of the one before. */
  reports(): readonly SampleReport[] {
    const path = join(this.directory, 'reports.jsonl');
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    // The last line may be half written.
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }
}

export interface SampleReport {
  readonly handler: string;
  readonly instance: string;
  readonly template: string;
  readonly fields: Readonly<Record<string, unknown>>;
}
