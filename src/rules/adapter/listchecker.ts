import ipaddr from 'ipaddr.js';
import { RE2JS } from 're2js';
import { type Duration, seconds } from '../../lib/duration.ts';
import type { Fields } from '../../model/parse/fields.ts';
import { defineAdapter, SCHEMA } from './define.ts';

const ENTRY_TYPES = ['STRINGS', 'CASE_INSENSITIVE_STRINGS', 'IP_ADDRESSES', 'REGEX'] as const;
export type EntryType = (typeof ENTRY_TYPES)[number];

export interface ListCheckerParams {
  readonly entryType: EntryType;
  /** Entries that are always in the list. */
  readonly overrides: readonly string[];
  /** Where more entries come from, one a line, or YAML's `whitelist: [...]`. */
  readonly provider: { readonly url: string; readonly refreshInterval: Duration; readonly ttl: Duration } | undefined;
  readonly blacklist: boolean;
  readonly cachingInterval: Duration;
  readonly cachingUseCount: number;
}

const MAX_USES = 2 ** 31 - 1;

/** Looks for a value in a list. */
export const listchecker = defineAdapter<ListCheckerParams>({
  name: 'listchecker',
  description: 'Admits what a list has, or refuses it (blacklist); the list is written down or comes from a URL',
  templates: ['listentry'],
  schema: SCHEMA.object({
    providerUrl: { ...SCHEMA.text, description: 'http or https; entries one a line' },
    refreshInterval: { ...SCHEMA.duration, description: 'how often the URL is read; default 60s' },
    ttl: { ...SCHEMA.duration, description: 'how long what was read last serves when the URL fails; default 300s' },
    cachingInterval: { ...SCHEMA.duration, description: 'how long clients may remember an answer; default 300s' },
    cachingUseCount: { ...SCHEMA.count, description: 'for how many requests; default 10000' },
    overrides: SCHEMA.list(SCHEMA.text),
    entryType: { type: 'string', enum: ENTRY_TYPES, description: 'default STRINGS' },
    blacklist: SCHEMA.flag,
  }),
  read: (fields) => {
    fields.noOthers([
      'providerUrl',
      'refreshInterval',
      'ttl',
      'cachingInterval',
      'cachingUseCount',
      'overrides',
      'entryType',
      'blacklist',
    ]);
    const entryType = fields.oneOf('entryType', ENTRY_TYPES) ?? 'STRINGS';
    const overrides = fields.texts('overrides');
    for (const [index, entry] of overrides.entries()) {
      const message = entryProblem(entryType, entry);
      if (message !== undefined) fields.refuse(`overrides[${index}]`, message);
    }
    return {
      entryType,
      overrides,
      provider: readProvider(fields),
      blacklist: fields.boolean('blacklist') ?? false,
      cachingInterval: fields.duration('cachingInterval') ?? seconds(300),
      cachingUseCount: fields.wholeNumber('cachingUseCount', 0, MAX_USES) ?? 10_000,
    };
  },
});

function readProvider(fields: Fields): ListCheckerParams['provider'] {
  const refreshInterval = fields.duration('refreshInterval') ?? seconds(60);
  const ttl = fields.duration('ttl') ?? seconds(300);
  const url = fields.text('providerUrl');
  if (url === undefined || url === '') return undefined;
  if (!URL.canParse(url) || !['http:', 'https:'].includes(new URL(url).protocol))
    fields.refuse('providerUrl', `"${url}" is no http or https URL`);
  if (refreshInterval < seconds(1)) fields.refuse('refreshInterval', 'must be at least 1s');
  if (ttl < refreshInterval) fields.refuse('ttl', 'must not be shorter than refreshInterval');
  return { url, refreshInterval, ttl };
}

/** What keeps a text from being an entry of a list. */
export function entryProblem(type: EntryType, entry: string): string | undefined {
  switch (type) {
    case 'IP_ADDRESSES':
      return ipaddr.isValid(entry) || ipaddr.isValidCIDR(entry)
        ? undefined
        : `"${entry}" is no IP address or range such as 10.0.0.0/8`;
    case 'REGEX':
      return regexProblem(entry);
    case 'STRINGS':
    case 'CASE_INSENSITIVE_STRINGS':
      return undefined;
  }
}

function regexProblem(entry: string): string | undefined {
  try {
    RE2JS.compile(entry);
    return undefined;
  } catch (thrown) {
    return `"${entry}" is no regular expression: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
}
