/**
 * For a test or a `before` hook that lacks what the set-up gets where it can, and has said so otherwise: skips, but fails in CI, where everything is
 * to be there. `lack` says what is missing and what to do.
 */
export function skipOutsideCi(context: Mocha.Context, lack: string): never {
  if ((process.env['CI'] ?? '') !== '') throw new Error(lack);
  return context.skip();
}
