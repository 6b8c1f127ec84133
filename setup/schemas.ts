/**
 * Compiles the JSON Schemas of src/model/schema into validators (build/schemas), so that no component compiles any when it starts.
 * The result stands alone: esbuild bundles the little that it takes from ajv.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import standalone from 'ajv/dist/standalone/index.js';
import { buildSync } from 'esbuild';
import { MESH_CONFIG } from '../src/model/schema/mesh-config.ts';
import { POLICY_SPEC } from '../src/model/schema/policy.ts';
import { type Step, stampOf } from './step.ts';

const SOURCE_DIR = 'src/model/schema';
const OUT_DIR = 'build/schemas';
const SCHEMAS = { 'policy-spec': POLICY_SPEC, 'mesh-config': MESH_CONFIG };

const TYPES = `/** A compiled JSON Schema: \`errors\` is about the last call. */
declare const validate: {
  (data: unknown): boolean;
  errors?: readonly {
    readonly keyword: string;
    readonly instancePath: string;
    readonly schemaPath: string;
    readonly params: Readonly<Record<string, unknown>>;
    readonly message?: string;
  }[] | null;
};
export default validate;
`;

function compile(name: string, schema: object): void {
  const ajv = new Ajv2020({ allErrors: true, messages: true, allowUnionTypes: true, code: { source: true, esm: true } });
  ajv.addVocabulary(['message']);
  const code = standalone.default(ajv, ajv.compile(schema));
  const { outputFiles } = buildSync({
    stdin: { contents: code, resolveDir: process.cwd() },
    bundle: true,
    format: 'esm',
    write: false,
  });
  writeFileSync(`${OUT_DIR}/${name}.js`, outputFiles[0]?.text ?? '');
  writeFileSync(`${OUT_DIR}/${name}.d.ts`, TYPES);
}

function compileAll(): void {
  rmSync(OUT_DIR, { recursive: true, force: true });
  mkdirSync(OUT_DIR, { recursive: true });
  for (const [name, schema] of Object.entries(SCHEMAS)) compile(name, schema);
}

export const schemasStep: Step = {
  name: 'schemas',
  stamp: () =>
    stampOf([
      'package-lock.json',
      'setup/schemas.ts',
      ...readdirSync(SOURCE_DIR)
        .sort()
        .map((file) => `${SOURCE_DIR}/${file}`),
    ]),
  output: OUT_DIR,
  run: compileAll,
};
