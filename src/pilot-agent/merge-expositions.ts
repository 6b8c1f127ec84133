import { type Family, readExposition, type Sample } from './exposition.ts';

/** Statistics of one source, in the Prometheus text format or as OpenMetrics. */
export interface SourceText {
  readonly text: string;
  readonly openMetrics: boolean;
}

export interface Merged {
  /** In the Prometheus text format. */
  readonly text: string;
  /** Lines of the application's that were left out, because they are broken or say again what was said. */
  readonly brokenLines: number;
  /** Samples of later sources that earlier ones have already, or have with another type. */
  readonly collisions: number;
}

/**
 * Joins the mesh's own statistics (texts that are in order) and the application's (which need not be) to one text, in which
 * each family stands once and each series too: what comes first holds.
 */
export function mergeExpositions(own: readonly string[], application: SourceText | undefined): Merged {
  const read = application === undefined ? undefined : readExposition(application.text, application.openMetrics);
  const foreign = read?.families ?? [];
  const brokenLines = read?.brokenLines ?? 0;
  const ownNames = own.map(familyNames);
  const names = [...ownNames, new Set(foreign.map((family) => family.name))];
  // The common case: megabytes of the proxy's are passed on unread.
  if (areDisjoint(names))
    return { text: [...own.map(endLine), ...foreign.map(printFamily)].join(''), brokenLines, collisions: 0 };
  const all = [...own.map((text) => readExposition(text, false).families), foreign];
  const { families, collisions } = joinFamilies(all.flat());
  return { text: families.map(printFamily).join(''), brokenLines, collisions };
}

function familyNames(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map((match) => match[1] ?? ''));
}

function areDisjoint(sets: readonly ReadonlySet<string>[]): boolean {
  const all = new Set(sets.flatMap((set) => [...set]));
  return all.size === sets.reduce((sum, set) => sum + set.size, 0);
}

function joinFamilies(families: readonly Family[]): { readonly families: readonly Family[]; readonly collisions: number } {
  const joined = new Map<string, Family & { readonly samples: Sample[]; readonly series: Set<string> }>();
  let collisions = 0;
  for (const family of families) {
    const first = joined.get(family.name);
    if (first === undefined) {
      const series = new Set(family.samples.map((sample) => sample.series));
      joined.set(family.name, { ...family, samples: [...family.samples], series });
      continue;
    }
    const added = first.type === family.type ? family.samples.filter((sample) => !first.series.has(sample.series)) : [];
    collisions += family.samples.length - added.length;
    for (const sample of added) {
      first.series.add(sample.series);
      first.samples.push(sample);
    }
  }
  return { families: [...joined.values()], collisions };
}

function printFamily({ name, type, help, samples }: Family): string {
  const lines = [
    ...(help === undefined ? [] : [`# HELP ${name} ${help}`]),
    `# TYPE ${name} ${type}`,
    ...samples.map((sample) => sample.line),
  ];
  return `${lines.join('\n')}\n`;
}

const endLine = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
