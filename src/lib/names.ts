/**
 * Every identifier that contains the mesh domain. Nothing else in the code spells the domain, so that MESH_DOMAIN moves
 * a whole installation to another one.
 */
export interface Names {
  readonly domain: string;
  /** API group and version of Policy and MeshPolicy. */
  readonly authentication: { readonly group: string; readonly apiVersion: string };
  readonly injectAnnotation: string;
  readonly statusAnnotation: string;
  /** Prefix of the other per-pod sidecar annotations, with its slash. */
  readonly sidecarPrefix: string;
  /** Prefix of the traffic redirection annotations, with its slash. */
  readonly trafficPrefix: string;
  /** Type of the secret that holds a service account's key and certificate. */
  readonly keyAndCertType: string;
  readonly webhookName: string;
  /** Of the entry beside it that is asked about pods of the control plane itself. */
  readonly ownWebhookName: string;
  readonly validationWebhookName: string;
  /** Label of namespaces whose policies are not validated at admission, where its value is `disabled`. */
  readonly validationLabel: string;
  /** Label of everything that an installation is made of; its value is the control plane's namespace. */
  readonly installationLabel: string;
}

export const DEFAULT_DOMAIN = 'mesh.io';

export function namesFor(domain: string): Names {
  const group = `authentication.${domain}`;
  return {
    domain,
    authentication: { group, apiVersion: `${group}/v1alpha1` },
    injectAnnotation: `sidecar.${domain}/inject`,
    statusAnnotation: `sidecar.${domain}/status`,
    sidecarPrefix: `sidecar.${domain}/`,
    trafficPrefix: `traffic.sidecar.${domain}/`,
    keyAndCertType: `${domain}/key-and-cert`,
    webhookName: `sidecar-injector.${domain}`,
    ownWebhookName: `control-plane.sidecar-injector.${domain}`,
    validationWebhookName: `policy-validation.${domain}`,
    validationLabel: `${domain}/policy-validation`,
    installationLabel: `install.${domain}/control-plane`,
  };
}
