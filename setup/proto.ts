/**
 * Generates TypeScript for the protobuf files the project uses, Envoy's and its own, into build/gen.
 * Envoy's files come with the npm package @grpc/grpc-js-xds; only what the roots import is generated.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Step, stampOf } from './step.ts';

const DEPS = 'node_modules/@grpc/grpc-js-xds/deps';
const IMPORT_DIRS = [`${DEPS}/envoy-api`, `${DEPS}/xds`, `${DEPS}/protoc-gen-validate`, `${DEPS}/googleapis`, 'proto'];
const PROTO_DIR = 'build/proto';
const OUT_DIR = 'build/gen';
const OPTIONS = ['oneof=unions', 'enumsAsLiterals=true', 'importSuffix=.ts', 'outputServices=none', 'esModuleInterop=true'];

function ownProtos(): string[] {
  return readdirSync('proto', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.proto'))
    .sort();
}

function roots(): string[] {
  const listed = readFileSync('setup/proto-roots.txt', 'utf8').split('\n');
  return [...listed.filter((line) => line !== '' && !line.startsWith('#')), ...ownProtos()];
}

function sourceOf(file: string): string | undefined {
  return IMPORT_DIRS.map((dir) => join(dir, file)).find((path) => existsSync(path));
}

/** Copies a file and all it imports; google/protobuf/* is built into buf. */
function copyClosure(file: string, seen: Set<string>): void {
  if (seen.has(file) || file.startsWith('google/protobuf/')) return;
  seen.add(file);
  const source = sourceOf(file);
  if (source === undefined)
    throw new Error(`setup/proto-roots.txt: ${file} (or something it imports) is not in ${DEPS} or proto/`);
  const target = join(PROTO_DIR, file);
  mkdirSync(dirname(target), { recursive: true });
  cpSync(source, target);
  for (const [, imported] of readFileSync(source, 'utf8').matchAll(/^import\s+(?:public\s+)?"([^"]+)"/gm)) {
    copyClosure(imported ?? '', seen);
  }
}

/** The shipped validate.proto is older than the API files beside it, which use `ignore_empty`. */
function patchValidate(): void {
  const path = join(PROTO_DIR, 'validate/validate.proto');
  const text = readFileSync(path, 'utf8');
  if (text.includes('ignore_empty')) return;
  const patched = text.replace(/^message (\w+Rules) \{$/gm, (line, name) =>
    ['MessageRules', 'FieldRules'].includes(name) ? line : `${line}\n    optional bool ignore_empty = 99;`,
  );
  writeFileSync(path, patched);
}

function generate(): void {
  rmSync(PROTO_DIR, { recursive: true, force: true });
  rmSync(OUT_DIR, { recursive: true, force: true });
  const seen = new Set<string>();
  for (const root of roots()) copyClosure(root, seen);
  patchValidate();
  writeFileSync(join(PROTO_DIR, 'buf.yaml'), 'version: v2\n');
  const template = {
    version: 'v2',
    plugins: [{ local: 'node_modules/.bin/protoc-gen-ts_proto', out: OUT_DIR, strategy: 'all', opt: OPTIONS }],
  };
  const args = ['generate', PROTO_DIR, '--include-imports', '--include-wkt', '--template', JSON.stringify(template)];
  execFileSync('node_modules/@bufbuild/buf-linux-x64/bin/buf', args, { stdio: ['ignore', 'inherit', 'inherit'] });
}

export const protoStep: Step = {
  name: 'protobuf code',
  stamp: () =>
    stampOf(['package-lock.json', 'setup/proto.ts', 'setup/proto-roots.txt', ...ownProtos().map((file) => join('proto', file))]),
  output: OUT_DIR,
  run: generate,
};
