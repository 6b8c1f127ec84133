/**
 * Reads statistics as applications print them: the Prometheus text format, and OpenMetrics, which is turned into it.
 * https://prometheus.io/docs/instrumenting/exposition_formats/ https://prometheus.io/docs/specs/om/open_metrics_spec/
 */

/** One metric family, ready to be printed. */
export interface Family {
  readonly name: string;
  readonly type: string;
  /** As it stood in the text, escapes and all. */
  readonly help: string | undefined;
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly line: string;
  /** Name and labels in a fixed order: no two samples may have the same. */
  readonly series: string;
}

export interface Exposition {
  /** In the order of the text. */
  readonly families: readonly Family[];
  /** Lines that could not be understood, or said again what was said, and were left out. */
  readonly brokenLines: number;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /[a-zA-Z_][a-zA-Z0-9_]*/y;
const NUMBER = /^[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|Inf|inf|NaN|nan)$/;
/** What each type's samples are called besides the family's own name. */
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['_sum', '_count'],
};
const TEXT_TYPES: readonly string[] = ['counter', 'gauge', 'histogram', 'summary', 'untyped'];

interface Draft {
  readonly name: string;
  type: string;
  help: string | undefined;
  readonly samples: Sample[];
  readonly series: Set<string>;
}

/** Reads a text; what is broken in it is left out. `openMetrics` says which of the two formats it is. */
export function readExposition(text: string, openMetrics: boolean): Exposition {
  const reader = new Reader(openMetrics);
  for (const line of text.split('\n')) reader.read(line.endsWith('\r') ? line.slice(0, -1) : line);
  return reader.result();
}

class Reader {
  readonly #openMetrics: boolean;
  readonly #families = new Map<string, Draft>();
  /** Types by the name that OpenMetrics gives a family, which for counters is not the text format's. */
  readonly #openTypes = new Map<string, string>();
  #brokenLines = 0;

  constructor(openMetrics: boolean) {
    this.#openMetrics = openMetrics;
  }

  read(line: string): void {
    if (line.trim() === '') return;
    if (!line.startsWith('#')) return this.#sample(line);
    const [, keyword, name = '', rest = ''] = /^#[ \t]+(HELP|TYPE)[ \t]+([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*(.*)$/.exec(line) ?? [];
    if (keyword === 'HELP') this.#family(this.#textName(name)).help ??= rest;
    if (keyword === 'TYPE') this.#type(name, rest.trim());
  }

  #type(name: string, type: string): void {
    if (this.#openMetrics) this.#openTypes.set(name, type);
    const known = this.#families.get(name);
    // The help of an OpenMetrics counter stands before its type, so it was taken for that of the bare name.
    const textName = this.#textName(name);
    if (textName !== name && known !== undefined && known.samples.length === 0) {
      this.#families.delete(name);
      this.#family(textName).help ??= known.help;
    }
    this.#family(textName).type = TEXT_TYPES.includes(type) ? type : type === 'info' || type === 'stateset' ? 'gauge' : 'untyped';
  }

  /** `requests` of type counter is called `requests_total` in the text format, an `info` has its suffix too. */
  #textName(name: string): string {
    const type = this.#openTypes.get(name);
    if (type === 'counter') return `${name}_total`;
    return type === 'info' ? `${name}_info` : name;
  }

  #family(name: string): Draft {
    const known = this.#families.get(name);
    if (known !== undefined) return known;
    const draft: Draft = { name, type: 'untyped', help: undefined, samples: [], series: new Set() };
    this.#families.set(name, draft);
    return draft;
  }

  #sample(line: string): void {
    const sample = parseSample(line, this.#openMetrics);
    const family = sample === undefined ? undefined : this.#family(this.#familyOf(sample.name));
    if (sample === undefined || family === undefined || family.series.has(sample.series)) {
      this.#brokenLines += 1;
      return;
    }
    family.series.add(sample.series);
    family.samples.push(sample);
  }

  #familyOf(sample: string): string {
    for (const [type, suffixes] of Object.entries(SUFFIXES)) {
      for (const suffix of suffixes) {
        const base = sample.endsWith(suffix) ? sample.slice(0, -suffix.length) : '';
        if (this.#families.get(base)?.type === type) return base;
      }
    }
    return sample;
  }

  result(): Exposition {
    const families = [...this.#families.values()].filter((family) => family.samples.length > 0);
    return { families, brokenLines: this.#brokenLines };
  }
}

function parseSample(line: string, openMetrics: boolean): (Sample & { readonly name: string }) | undefined {
  const name = NAME.exec(line)?.[0];
  if (name === undefined) return undefined;
  const labels = readLabels(line, name.length);
  if (labels === undefined) return undefined;
  let rest = line.slice(labels.end);
  // An exemplar, which the text format has not.
  if (openMetrics) rest = rest.split(' # ')[0] ?? '';
  const [value = '', timestamp, ...more] = rest.trim().split(/[ \t]+/);
  if (!NUMBER.test(value) || more.length > 0) return undefined;
  const time = timestamp === undefined ? '' : timestampText(timestamp, openMetrics);
  if (time === undefined) return undefined;
  const series = `${name}{${[...labels.pairs].sort().join()}}`;
  const printed = labels.pairs.length === 0 ? '' : `{${labels.pairs.join()}}`;
  return { name, series, line: `${name}${printed} ${value}${time}` };
}

/** OpenMetrics counts seconds, the text format milliseconds. */
function timestampText(text: string, openMetrics: boolean): string | undefined {
  if (!openMetrics) return /^-?[0-9]+$/.test(text) ? ` ${text}` : undefined;
  const seconds = NUMBER.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(seconds) ? ` ${Math.round(seconds * 1000)}` : undefined;
}

/** `{a="b",c="d"}` from `start` on, if there is a brace; every pair as it is printed. Undefined: broken. */
function readLabels(line: string, start: number): { readonly pairs: readonly string[]; readonly end: number } | undefined {
  let at = skipBlanks(line, start);
  if (line[at] !== '{') return { pairs: [], end: start };
  const pairs: string[] = [];
  for (at = skipBlanks(line, at + 1); line[at] !== '}'; ) {
    LABEL.lastIndex = at;
    const label = LABEL.exec(line)?.[0];
    if (label === undefined) return undefined;
    at = skipBlanks(line, at + label.length);
    if (line[at] !== '=') return undefined;
    at = skipBlanks(line, at + 1);
    const end = endOfQuoted(line, at);
    if (end === undefined) return undefined;
    pairs.push(`${label}=${line.slice(at, end)}`);
    at = skipBlanks(line, end);
    if (line[at] === ',') at = skipBlanks(line, at + 1);
    else if (line[at] !== '}') return undefined;
  }
  return { pairs, end: at + 1 };
}

function endOfQuoted(line: string, start: number): number | undefined {
  if (line[start] !== '"') return undefined;
  for (let at = start + 1; at < line.length; at += 1) {
    if (line[at] === '\\') at += 1;
    else if (line[at] === '"') return at + 1;
  }
  return undefined;
}

function skipBlanks(line: string, start: number): number {
  let at = start;
  while (line[at] === ' ' || line[at] === '\t') at += 1;
  return at;
}
