import { expect } from 'chai';
import type { HandlerContext, Method } from '../../../../src/io/grpc/types.ts';
import { boundedBytes, byteBudget } from '../../../../src/mixs/api/bounded-bytes.ts';

const CONTEXT: HandlerContext = {
  metadata: new Map(),
  peer: { address: '127.0.0.1:1', certificate: undefined },
  signal: new AbortController().signal,
  response: { addHeader: () => {}, addTrailer: () => {} },
};

describe('the bytes of requests', () => {
  it('are bounded over all methods, and free again when their requests are over, however they end', async () => {
    const gate = Promise.withResolvers<void>();
    const slow = async (request: Uint8Array): Promise<Uint8Array> => {
      await gate.promise;
      if (request.length === 3) throw new Error('broken');
      return request;
    };
    const both: readonly Method[] = ['/a/A', '/b/B'].map((path) => ({ type: 'unary', path, handle: slow }));
    const [a, b] = boundedBytes(both, 10);
    const call = (method: Method | undefined, bytes: number): Promise<unknown> =>
      method?.type === 'unary'
        ? method.handle(new Uint8Array(bytes), CONTEXT).catch((error: unknown) => error)
        : Promise.reject(method);
    const all = [call(a, 4), call(b, 3), call(b, 3)];
    expect(await call(a, 1)).to.include({
      code: 'resource_exhausted',
      message: 'requests of 10 bytes are worked on and wait already: try again later',
    });
    gate.resolve();
    const [first, second] = await Promise.all(all);
    expect(first).to.have.lengthOf(4);
    expect(second).to.have.property('message', 'broken');
    expect(await call(b, 10)).to.have.lengthOf(10);
  });

  it('are enough for several of the greatest messages', () => {
    expect([byteBudget(1_048_576), byteBudget(2 ** 30)]).to.deep.equal([2 ** 26, 2 ** 32]);
  });
});
