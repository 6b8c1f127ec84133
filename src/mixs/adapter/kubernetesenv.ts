import type { KubernetesenvParams } from '../../rules/adapter/kubernetesenv.ts';
import type { KubernetesOutput } from '../../rules/template/instances.ts';
import type { AdapterEnvironment, Handler } from './adapter.ts';

/** Tells what is known of pods, by uid, or else by address. */
export function openKubernetesenv(_: KubernetesenvParams, { pods }: AdapterEnvironment): Handler {
  pods.follow();
  const find = (uid: string | undefined, ip: string | undefined, port?: bigint): KubernetesOutput | undefined => {
    // A uid that is given and unknown is no reason to take whoever has the address.
    const pod = uid === undefined || uid === '' ? (ip === undefined ? undefined : pods.byIp(ip)) : pods.byUid(uid);
    if (pod === undefined) return undefined;
    return { ...pod.output, containerName: port === undefined ? undefined : pod.containers.get(Number(port)) };
  };
  return {
    attributes: ({ sourceUid, sourceIp, destinationUid, destinationIp, destinationPort }) => ({
      source: find(sourceUid, sourceIp),
      destination: find(destinationUid, destinationIp, destinationPort),
    }),
    close: async () => {},
  };
}
