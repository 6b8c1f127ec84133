import { checkChain, describeCertificate } from '../../../io/x509/chain.ts';
import { type Finding, subjectOf } from '../finding.ts';
import { dataOf, type MeshState } from '../mesh-state.ts';
import { CHAIN_ENTRY, decode, parseCertificates, problemsText } from './certificates.ts';
import { clientConfigOf, consequenceOf, type MeshWebhook, meshWebhooks } from './webhooks.ts';

/** MESH604, MESH605: the API server would not trust the webhook. */
export function webhookAuthority(state: MeshState): readonly Finding[] {
  return meshWebhooks(state).flatMap((webhook) => {
    const finding = judge(state, webhook);
    return finding === undefined
      ? []
      : [{ ...finding, subject: subjectOf(webhook.object), path: `${webhook.path}.clientConfig.caBundle` }];
  });
}

function judge(state: MeshState, webhook: MeshWebhook): Pick<Finding, 'code' | 'message'> | undefined {
  const { caBundle } = clientConfigOf(webhook.fields);
  // Without a bundle the API server asks the roots of its system, which know no service of a cluster.
  if (typeof caBundle !== 'string' || caBundle === '') {
    return webhook.service === undefined
      ? undefined
      : { code: 'MESH604', message: `caBundle is empty, so the API server trusts nobody: ${consequenceOf(webhook)}` };
  }
  const roots = parseCertificates(decode(caBundle));
  if (!roots.ok) return { code: 'MESH604', message: `caBundle: ${problemsText(roots)}` };
  const secret = secretOf(state, webhook);
  const chain = secret === undefined ? undefined : parseCertificates(decode(dataOf(secret)[CHAIN_ENTRY]));
  const [leaf, ...intermediates] = chain?.ok === true ? chain.value : [];
  if (leaf === undefined || leaf.validToDate <= state.now) return undefined;
  if (checkChain({ leaf, intermediates, roots: roots.value }, state.now).length === 0) return undefined;
  const message = `caBundle does not lead to the certificate of Secret ${secret?.metadata.namespace}/${secret?.metadata.name}, ${describeCertificate(leaf)}`;
  return { code: 'MESH605', message };
}

/** The secret that an installed component serves with: of the account that is named after its service. */
function secretOf({ objects }: MeshState, { service }: MeshWebhook) {
  if (service === undefined) return undefined;
  const { namespace, name } = service;
  return objects.secret.find(
    ({ metadata }) => metadata.namespace === namespace && metadata.name === `mesh.${name}-service-account`,
  );
}
