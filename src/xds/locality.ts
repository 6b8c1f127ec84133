import { Locality } from '#gen/envoy/config/core/v3/base.ts';
import { type LbEndpoint, LocalityLbEndpoints } from '#gen/envoy/config/endpoint/v3/endpoint_components.ts';
import { compareText } from '../model/identity.ts';
import type { Locality as Place } from '../model/locality.ts';

export interface PlacedEndpoint {
  readonly locality: Place;
  readonly endpoint: LbEndpoint;
}

/** The endpoints of each place together, in the order that they come in; places sorted, an unknown one first. */
export function groupByLocality(placed: readonly PlacedEndpoint[]): LocalityLbEndpoints[] {
  const groups = new Map<Place, LbEndpoint[]>();
  for (const { locality, endpoint } of placed) {
    const group = groups.get(locality);
    if (group === undefined) groups.set(locality, [endpoint]);
    else group.push(endpoint);
  }
  return [...groups]
    .sort(([a], [b]) => compareText(a, b))
    .map(([place, lbEndpoints]) => LocalityLbEndpoints.fromPartial({ ...placeOf(place), lbEndpoints }));
}

function placeOf(place: Place): { readonly locality?: Locality } {
  if (place === '') return {};
  const [region = '', zone = ''] = place.split('/');
  return { locality: Locality.fromPartial({ region, zone }) };
}
