/**
 * Values of attributes, as istio.policy.v1beta1.ValueType types them. Types are known from the vocabulary when configuration is read, so a
 * value carries none at request time.
 */
export const VALUE_TYPES = [
  'STRING',
  'INT64',
  'DOUBLE',
  'BOOL',
  'TIMESTAMP',
  'IP_ADDRESS',
  'EMAIL_ADDRESS',
  'URI',
  'DNS_NAME',
  'DURATION',
  'STRING_MAP',
] as const;

export type ValueType = (typeof VALUE_TYPES)[number];

export type StringMap = ReadonlyMap<string, string>;

export interface ValueOf {
  readonly STRING: string;
  readonly INT64: bigint;
  readonly DOUBLE: number;
  readonly BOOL: boolean;
  /** Nanoseconds since 1970. */
  readonly TIMESTAMP: bigint;
  /** Canonical text (RFC 5952; an IPv4 address in IPv6 form is written as IPv4), so that equal addresses are equal. */
  readonly IP_ADDRESS: string;
  readonly EMAIL_ADDRESS: string;
  readonly URI: string;
  readonly DNS_NAME: string;
  /** Nanoseconds. */
  readonly DURATION: bigint;
  readonly STRING_MAP: StringMap;
}

export type Value = ValueOf[ValueType];

/** A value with its type, for those who treat all types alike. */
export type TypedValue = { readonly [T in ValueType]: { readonly type: T; readonly value: ValueOf[T] } }[ValueType];
