import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { compareText } from '../model/identity.ts';
import { type EncodedResource, encodeAny, type ResourceSet, type TypeUrl } from './resource.ts';

/** Makes resources and sets of one type, giving back the objects it made before where the content is the same. */
export interface Encoder {
  resource(name: string, value: Uint8Array, previous?: EncodedResource): EncodedResource;
  set(resources: readonly EncodedResource[], previous?: ResourceSet): ResourceSet;
}

/** `hash` of bytes becomes the version; it must be collision-free in practice. */
export function createEncoder(typeUrl: TypeUrl, hash: (bytes: Uint8Array) => string): Encoder {
  return {
    resource(name, value, previous) {
      const any = encodeAny(typeUrl, value);
      const version = hash(any);
      return previous?.name === name && previous.version === version ? previous : { name, version, any };
    },
    set(resources, previous) {
      const sorted = resources.toSorted((a, b) => compareText(a.name, b.name));
      if (previous !== undefined && holds(previous, sorted)) return previous;
      const names = new BinaryWriter();
      for (const { name, version } of sorted) names.string(name).string(version);
      const byName = new Map(sorted.map((resource) => [resource.name, resource]));
      return { typeUrl, version: hash(names.finish()), resources: byName };
    },
  };
}

function holds(set: ResourceSet, sorted: readonly EncodedResource[]): boolean {
  return set.resources.size === sorted.length && sorted.every((resource) => set.resources.get(resource.name) === resource);
}
