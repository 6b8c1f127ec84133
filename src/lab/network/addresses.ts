import { MeshError } from '../../lib/errors.ts';

/** Address of the lab's one node, where the control plane listens. */
export const NODE_ADDRESS = '10.244.0.1';
/** Pods live in 10.244.0.0/16; .0.0 and .0.1 are the network's and the node's. */
export const POD_RANGE: AddressRange = { base: '10.244.0.0', bits: 16, reserved: 2 };
/** Service addresses, as kubeadm's default 10.96.0.0/12. */
export const SERVICE_RANGE: AddressRange = { base: '10.96.0.0', bits: 20, reserved: 1 };

export interface AddressRange {
  readonly base: string;
  /** Number of host bits. */
  readonly bits: number;
  /** How many addresses at the start are never given out. */
  readonly reserved: number;
}

/**
 * Gives out IPv4 addresses of a range. A released address comes round again only after all the others, so that a late
 * packet to a dead pod does not reach a new one.
 */
export class AddressPool {
  readonly #range: AddressRange;
  readonly #taken = new Set<number>();
  #next: number;

  constructor(range: AddressRange) {
    this.#range = range;
    this.#next = range.reserved;
  }

  /** The preferred address if it is free and in the range, the next free one otherwise. Throws `resource_exhausted`. */
  allocate(preferred?: string): string {
    const wished = preferred === undefined ? undefined : this.#offset(preferred);
    if (wished !== undefined && !this.#taken.has(wished)) return this.#take(wished);
    const { bits, reserved } = this.#range;
    // The last address is the broadcast address.
    const end = 2 ** bits - 1;
    for (let tried = reserved; tried < end; tried++) {
      const candidate = this.#next;
      this.#next = candidate + 1 >= end ? reserved : candidate + 1;
      if (!this.#taken.has(candidate)) return this.#take(candidate);
    }
    throw new MeshError('resource_exhausted', `no address is free in ${this.#range.base}/${32 - bits}`);
  }

  release(address: string): void {
    const offset = this.#offset(address);
    if (offset !== undefined) this.#taken.delete(offset);
  }

  #take(offset: number): string {
    this.#taken.add(offset);
    return fromNumber(toNumber(this.#range.base) + offset);
  }

  #offset(address: string): number | undefined {
    if (!IPV4.test(address)) return undefined;
    const offset = toNumber(address) - toNumber(this.#range.base);
    return offset >= this.#range.reserved && offset < 2 ** this.#range.bits - 1 ? offset : undefined;
  }
}

const IPV4 = /^(?:\d{1,3}\.){3}\d{1,3}$/;

/** Whether an address is one of the range, reserved or not. */
export function isInRange(address: string, { base, bits }: AddressRange): boolean {
  const offset = IPV4.test(address) ? toNumber(address) - toNumber(base) : -1;
  return offset >= 0 && offset < 2 ** bits;
}

function toNumber(address: string): number {
  return address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
}

function fromNumber(value: number): string {
  return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255].join('.');
}
