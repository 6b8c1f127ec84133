import { createHash } from 'node:crypto';
import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { analyse } from './analyze/analysers.ts';
import { unreachableKeySets } from './analyze/fetch-key-sets.ts';
import { describeSubject, type Finding, severityOf, sortFindings, sortKey } from './analyze/finding.ts';
import type { analyzeFlags } from './analyze/flags.ts';
import { isFromFiles, type Loaded, loadMesh } from './analyze/load.ts';
import type { ObjectSet } from './analyze/mesh-objects.ts';
import { type MeshState, meshState } from './analyze/mesh-state.ts';
import { printFindings } from './analyze/report.ts';
import { warn } from './session.ts';

/**
 * `meshctl analyze [-f FILES]`: what is wrong in a mesh, or would be if the files were applied; of the latter, what stands in the files
 * and what they bring about. Exit code 1 when there are errors.
 */
export async function runAnalyze({ options }: Invocation<typeof analyzeFlags>, host: Host): Promise<number> {
  const { orchconfig, filename: filenames, namespace, meshNamespace: rootNamespace, domain, output } = options;
  const loaded = await loadMesh({ orchconfig, filenames, namespace }, host);
  for (const note of loaded.notes) warn(host, note);
  const stateOf = (set: ObjectSet, templates: Loaded['templates']): MeshState =>
    meshState(set, { names: host.names, rootNamespace, domain, now: host.now(), hash: sha256, templates });
  const state = stateOf(loaded.merged, loaded.templates);
  const fetched = options['fetch-jwks'] ? await unreachableKeySets(state.snapshot, fetch, host.signal) : [];
  const all = sortFindings([...(loaded.files?.findings ?? []), ...analyse(state), ...fetched]);
  const known = loaded.files === undefined || loaded.live === undefined ? [] : analyse(stateOf(loaded.live, []));
  const findings = ofFiles(all, known, loaded).filter(({ subject }) => isOf(namespace, subject));
  const placed = findings.map((finding) => ({
    finding,
    place: loaded.files?.placeOf(describeSubject(finding.subject), finding.path ?? ''),
  }));
  host.stdout.write(printFindings(placed, output));
  return findings.some((finding) => severityOf(finding) === 'error') ? 1 : 0;
}

/** Without files all findings; with files those on their objects, and those that were not there before. */
function ofFiles(findings: readonly Finding[], known: readonly Finding[], { files }: Loaded): readonly Finding[] {
  if (files === undefined) return findings;
  const before = new Set(known.map(sortKey));
  return findings.filter((finding) => isFromFiles(files, describeSubject(finding.subject)) || !before.has(sortKey(finding)));
}

/** Whether a finding is to be told to who asked for one namespace. */
function isOf(namespace: string, subject: Finding['subject']): boolean {
  if (namespace === '') return true;
  if (subject.kind === 'Namespace') return subject.name === namespace;
  return subject.namespace === undefined || subject.namespace === namespace;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
