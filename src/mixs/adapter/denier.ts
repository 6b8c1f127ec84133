import type { DenierParams } from '../../rules/adapter/denier.ts';
import type { Handler } from './adapter.ts';

/** Refuses everything. */
export function openDenier({ code, message, validDuration, validUseCount }: DenierParams): Handler {
  const status = { code, message };
  return {
    check: () => ({ status, validMs: validDuration, validUses: validUseCount }),
    quota: () => ({ status, granted: 0, validMs: validDuration }),
    close: async () => {},
  };
}
