import { expect } from 'chai';
import { ByteBudget, ControlFrameLimit } from '../../../../src/io/grpc/limits.ts';

describe('limits of a connection', () => {
  it('lets a client send 200 control frames in ten seconds', () => {
    let now = 0;
    const limit = new ControlFrameLimit(() => now);
    const send = (count: number) => Array.from({ length: count }, () => limit.exceeded());
    expect(send(200)).to.not.include(true);
    now = 9_999;
    expect(limit.exceeded()).to.equal(true);
    now = 10_000;
    expect(send(200)).to.not.include(true);
    expect(limit.exceeded()).to.equal(true);
  });

  it('lets a client answer each message, and each part of a long one, with a ping, also a window later', () => {
    let now = 0;
    const limit = new ControlFrameLimit(() => now);
    for (let i = 0; i < 200; i += 1) limit.exceeded();
    limit.sent(10);
    limit.sent(80 * 1024);
    for (let i = 0; i < 12; i += 1) expect(limit.exceeded()).to.equal(false);
    expect(limit.exceeded()).to.equal(true);
    now = 10_000;
    for (let i = 0; i < 212; i += 1) expect(limit.exceeded()).to.equal(false);
    expect(limit.exceeded()).to.equal(true);
    now = 20_000;
    for (let i = 0; i < 200; i += 1) limit.exceeded();
    expect(limit.exceeded()).to.equal(true);
  });

  it('shares a number of bytes, and takes nothing when there are too few left', () => {
    const budget = new ByteBudget(10);
    budget.hold(8);
    expect(() => budget.hold(3))
      .to.throw('unfinished request messages')
      .with.property('code', 'resource_exhausted');
    budget.hold(2);
    budget.hold(-10);
    budget.hold(10);
  });
});
