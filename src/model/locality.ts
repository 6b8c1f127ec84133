/** Where something runs: `region/zone`, either of which may be empty; empty altogether where nothing is known. */
export type Locality = string;

/** A Kubernetes Node, as far as it says where its pods run. */
export interface Node {
  readonly name: string;
  readonly region: string;
  readonly zone: string;
}

/** Of an endpoint: the zone that is written at it counts before its node's. */
export function localityOf(zone: string | undefined, node: Node | undefined): Locality {
  const known = { region: node?.region ?? '', zone: zone ?? node?.zone ?? '' };
  return known.region === '' && known.zone === '' ? '' : `${known.region}/${known.zone}`;
}
