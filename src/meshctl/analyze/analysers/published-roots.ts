import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE } from '../../../injection/decision.ts';
import { type Finding, subjectOf } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { dataOf } from '../mesh-state.ts';
import { authoritySecret, CA_SECRET, currentRoots, decode, parseCertificates, ROOT_CONFIG_MAP } from './certificates.ts';

/** MESH505, MESH506: namespaces whose workloads would trust nobody, or somebody else. */
export function publishedRoots(state: MeshState): readonly Finding[] {
  if (!state.knows('configMap') || currentRoots(state) === undefined) return [];
  const signing = signingRoot(state);
  const maps = state.objects.configMap.filter(({ metadata }) => metadata.name === ROOT_CONFIG_MAP.name);
  const injected = state.objects.namespace.filter(({ metadata }) => metadata.labels?.[NAMESPACE_LABEL] === NAMESPACE_LABEL_VALUE);
  const missing = injected
    .filter(({ metadata }) => !maps.some((map) => map.metadata.namespace === metadata.name))
    .map((namespace): Finding => {
      const message = `has no ConfigMap ${ROOT_CONFIG_MAP.name}, which its sidecars mount`;
      return { code: 'MESH505', subject: subjectOf(namespace), message };
    });
  const other = maps.flatMap((map): readonly Finding[] => {
    const published = parseCertificates(dataOf(map)[ROOT_CONFIG_MAP.key] ?? '');
    if (!published.ok || signing === undefined || published.value.some(({ raw }) => raw.equals(signing.raw))) return [];
    const message = `${ROOT_CONFIG_MAP.key} lacks the root of Secret ${state.rootNamespace}/${CA_SECRET}, so peers do not trust one another`;
    return [{ code: 'MESH506', subject: subjectOf(map), path: `data["${ROOT_CONFIG_MAP.key}"]`, message }];
  });
  return [...missing, ...other];
}

/** The root that certificates signed now lead to: of an authority below another one, the last of its chain. */
function signingRoot(state: MeshState) {
  const secret = authoritySecret(state);
  const data = secret === undefined ? {} : dataOf(secret);
  const chain = parseCertificates(decode(data['cert-chain.pem']));
  const own = parseCertificates(decode(data['ca-cert.pem']));
  if (chain.ok) return chain.value.at(-1);
  return own.ok ? own.value.at(-1) : undefined;
}
