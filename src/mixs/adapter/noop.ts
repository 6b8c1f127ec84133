import type { Handler } from './adapter.ts';

/** Grants and forgets everything. */
export function openNoop(): Handler {
  const status = { code: 0, message: '' };
  return {
    check: () => ({ status, validMs: Number.POSITIVE_INFINITY, validUses: Number.POSITIVE_INFINITY }),
    quota: (_, { amount }) => ({ status, granted: amount, validMs: 0 }),
    report: () => {},
    close: async () => {},
  };
}
