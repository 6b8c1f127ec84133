import type { Fields } from '../../model/parse/fields.ts';
import { defineAdapter, SCHEMA } from './define.ts';

const LEVELS = ['INFO', 'WARNING', 'ERROR'] as const;
export type StdioLevel = (typeof LEVELS)[number];
const STREAMS = ['STDOUT', 'STDERR', 'FILE'] as const;

export interface StdioParams {
  readonly target: { readonly type: 'stdout' | 'stderr' } | { readonly type: 'file'; readonly path: string };
  /** By the severity that a log entry has; severities not named are INFO. */
  readonly severityLevels: ReadonlyMap<string, StdioLevel>;
  readonly metricLevel: StdioLevel;
  readonly outputLevel: StdioLevel;
  readonly json: boolean;
}

const level = { type: 'string', enum: LEVELS } as const;

/** Lines on a standard stream or in a file. */
export const stdio = defineAdapter<StdioParams>({
  name: 'stdio',
  description: 'Writes log entries and metrics as lines, to a standard stream or a file',
  templates: ['logentry', 'metric'],
  schema: SCHEMA.object({
    logStream: { type: 'string', enum: STREAMS, description: 'default STDOUT' },
    outputPath: { ...SCHEMA.text, description: 'the file, where logStream is FILE' },
    severityLevels: SCHEMA.map(level),
    metricLevel: level,
    outputLevel: { ...level, description: 'what is below is not written; default INFO' },
    outputAsJson: { ...SCHEMA.flag, description: 'default true' },
  }),
  read: (fields) => {
    fields.noOthers(['logStream', 'outputPath', 'severityLevels', 'metricLevel', 'outputLevel', 'outputAsJson']);
    return {
      target: readTarget(fields),
      severityLevels: readLevels(fields),
      metricLevel: fields.oneOf('metricLevel', LEVELS) ?? 'INFO',
      outputLevel: fields.oneOf('outputLevel', LEVELS) ?? 'INFO',
      json: fields.boolean('outputAsJson') ?? true,
    };
  },
});

function readTarget(fields: Fields): StdioParams['target'] {
  const stream = fields.oneOf('logStream', STREAMS) ?? 'STDOUT';
  if (stream !== 'FILE') return { type: stream === 'STDOUT' ? 'stdout' : 'stderr' };
  return { type: 'file', path: fields.requiredText('outputPath') };
}

function readLevels(fields: Fields): ReadonlyMap<string, StdioLevel> {
  const nested = fields.object('severityLevels');
  return new Map(Object.keys(fields.textMap('severityLevels')).map((name) => [name, nested.oneOf(name, LEVELS) ?? 'INFO']));
}
