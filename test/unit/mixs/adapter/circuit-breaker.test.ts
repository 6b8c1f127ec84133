import { expect } from 'chai';
import { milliseconds, seconds } from '../../../../src/lib/duration.ts';
import { CircuitBreaker, type Permit } from '../../../../src/mixs/adapter/circuit-breaker.ts';

describe('a circuit breaker', () => {
  let now: number;
  let random: number;
  let opened: number;
  let breaker: CircuitBreaker;

  beforeEach(() => {
    now = 0;
    random = 1;
    opened = 0;
    breaker = new CircuitBreaker({
      consecutiveFailures: 3,
      openDuration: seconds(5),
      elapsed: () => now,
      random: () => random,
      onOpen: () => opened++,
    });
  });

  function enter(): Permit {
    const permit = breaker.admit();
    if (permit === undefined) throw new Error(`no call is admitted: ${breaker.state}`);
    return permit;
  }

  const fail = (times = 1): void => {
    for (let time = 0; time < times; time++) enter().failed();
  };

  it('opens after so many failures in a row, and not before', () => {
    fail(2);
    enter().succeeded();
    fail(2);
    expect(breaker.state).to.equal('closed');
    fail();
    expect(breaker.state).to.equal('open');
    expect(breaker.admit()).to.equal(undefined);
    expect(opened).to.equal(1);
  });

  it('lets one call try when it has been open long enough, and closes when that succeeds', () => {
    fail(3);
    now = 4_999;
    expect(breaker.admit()).to.equal(undefined);
    now = 5_000;
    expect(breaker.state).to.equal('half-open');
    const trial = enter();
    expect(breaker.admit()).to.equal(undefined);
    expect(breaker.state).to.equal('half-open');
    trial.succeeded();
    expect(breaker.state).to.equal('closed');
    fail(2);
    expect(breaker.state).to.equal('closed');
  });

  it('stays open longer each time that the trial fails, up to a minute', () => {
    fail(3);
    const waits: number[] = [];
    for (let trial = 0; trial < 6; trial++) {
      const begin = now;
      while (breaker.state === 'open') now += 500;
      waits.push(now - begin);
      fail();
    }
    expect(waits).to.deep.equal([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  it('is open between a half and the whole of the time, as chance has it', () => {
    random = 0;
    fail(3);
    now = milliseconds(2_500);
    expect(breaker.state).to.equal('half-open');
  });

  it('lets another call try when nobody knows what came of the first', () => {
    fail(3);
    now = 5_000;
    enter().abandoned();
    expect(breaker.state).to.equal('half-open');
    enter().succeeded();
    expect(breaker.state).to.equal('closed');
  });

  it('does not hear of calls from before it opened', () => {
    const [early, late] = [enter(), enter()];
    fail(3);
    now = 5_000;
    const trial = enter();
    early.succeeded();
    late.failed();
    expect(breaker.admit()).to.equal(undefined);
    trial.succeeded();
    expect(breaker.state).to.equal('closed');
  });

  it('closes at good health where no call has failed, for then nothing else is known', () => {
    for (let time = 0; time < 3; time++) breaker.failure();
    expect(breaker.state).to.equal('open');
    expect(breaker.healthy()).to.equal(true);
    expect(breaker.state).to.equal('closed');
  });

  it('does not close at good health where calls have failed', () => {
    breaker.failure();
    fail(2);
    expect(breaker.state).to.equal('open');
    expect(breaker.healthy()).to.equal(false);
    expect(breaker.state).to.equal('open');
  });
});
