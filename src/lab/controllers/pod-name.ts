import { createHash } from 'node:crypto';

/** Letters and digits that make no words, as Kubernetes uses for generated names. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
/** A pod's name is a DNS label. */
const MAX_NAME = 63;

/** `<deployment>-<template hash>-<suffix>`, cut to the length of a DNS label. */
export function podName(deployment: string, templateHash: string, random: () => number): string {
  const tail = `-${templateHash}-${letters(5, random)}`;
  return `${deployment.slice(0, MAX_NAME - tail.length)}${tail}`;
}

/** Ten characters that change with the pod template; property order does not matter. */
export function templateHash(template: unknown): string {
  const digest = createHash('sha256').update(canonical(template)).digest();
  return Array.from(digest.subarray(0, 10), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}

function letters(count: number, random: () => number): string {
  return Array.from({ length: count }, () => ALPHABET[Math.floor(random() * ALPHABET.length)]).join('');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
}
