/**
 * Builds the sample of a gRPC adapter (examples/grpc-adapter) that the tests of mixs call, into the user's cache, with the code that
 * protoc-gen-go makes of the published contract. Go is needed by tests alone: where it is missing or cannot build, those tests are skipped,
 * except in CI.
 */
import { existsSync, globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { cacheDirectory } from '../src/lab/kept-programs.ts';
import { buildGoProgram } from './go-program.ts';
import { stampOf } from './step.ts';

const SOURCE_DIR = 'examples/grpc-adapter';
const PROTO_DIR = 'proto/mesh/adapter';
const BUF = 'node_modules/@bufbuild/buf-linux-x64/bin/buf';

/** Where the program is, or will be, for the sources as they are. */
export function grpcAdapterPath(env: NodeJS.ProcessEnv): string {
  const sources = globSync([`${SOURCE_DIR}/{*.go,go.mod,go.sum,buf.gen.yaml}`, `${PROTO_DIR}/**/*.proto`]).sort();
  return join(cacheDirectory(env), 'grpc-adapter', stampOf(sources).slice(0, 12));
}

/** Builds it unless it is there; says on stderr what it does, and why it could not. */
export async function ensureGrpcAdapter(env: NodeJS.ProcessEnv): Promise<void> {
  const target = grpcAdapterPath(env);
  if (existsSync(target)) return;
  const command = [resolve(BUF), 'generate', '../../proto', '--path', `../../${PROTO_DIR}`] as const;
  try {
    const generate = { with: [PROTO_DIR], command };
    await buildGoProgram({ title: 'sample of a gRPC adapter', source: SOURCE_DIR, target, generate }, env);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if ((env['CI'] ?? '') !== '') throw new Error(`the sample of a gRPC adapter cannot be had: ${reason}`);
    process.stderr.write(`setup: ${reason}\nsetup: the tests with gRPC adapters will be skipped\n`);
  }
}
