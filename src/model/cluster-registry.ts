/** Another cluster whose endpoints belong to the mesh, as the ConfigMap of `--clusterRegistriesConfigMap` names it. */
export interface RegisteredCluster {
  readonly name: string;
  /** The Secret that holds its kubeconfig. */
  readonly secret: { readonly namespace: string; readonly name: string };
  /** Keys of that Secret that the kubeconfig may stand under, the likeliest first. */
  readonly keys: readonly string[];
}
