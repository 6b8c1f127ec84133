/** Runs something never twice at once; who asks while it runs gets one more run, of all who asked meanwhile. */
export function oneAtATime(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let following: Promise<void> | undefined;
  const begin = (): Promise<void> => {
    following = undefined;
    running = run().finally(() => {
      running = undefined;
    });
    return running;
  };
  return () => {
    if (following !== undefined) return following;
    if (running === undefined) return begin();
    following = running.catch(() => {}).then(begin);
    return following;
  };
}
