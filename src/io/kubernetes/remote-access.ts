/** A kubeconfig that came from elsewhere, a Secret: it may lead to a server, and to nothing on this machine. */
import type { Parsed, Problem } from '../../lib/errors.ts';
import type { Access, Material } from './access.ts';
import { parseKubeconfig } from './kubeconfig.ts';

/** Like parseKubeconfig, but refuses programs and files: whoever may write the text may run nothing and read nothing here. */
export function parseRemoteKubeconfig(text: string): Parsed<Access> {
  const parsed = parseKubeconfig(text, '/');
  if (!parsed.ok) return parsed;
  const { server, user } = parsed.value;
  const { authorization, certificate } = user;
  const problems: Problem[] = [
    ...inlineOnly('certificate-authority', server.authority),
    ...inlineOnly('client-certificate', certificate?.chain),
    ...inlineOnly('client-key', certificate?.key),
    ...inlineOnly('tokenFile', authorization?.type === 'token' ? authorization.token : undefined),
  ];
  if (authorization?.type === 'exec') {
    problems.push({ path: 'exec', message: 'programs are not run for a remote cluster; give a token or a certificate' });
  }
  return problems.length > 0 ? { ok: false, problems } : parsed;
}

function inlineOnly(path: string, material: Material | undefined): readonly Problem[] {
  if (material?.type !== 'file') return [];
  return [
    {
      path,
      message: `files are not read for a remote cluster; put the content into ${path === 'tokenFile' ? 'token' : `${path}-data`}`,
    },
  ];
}
