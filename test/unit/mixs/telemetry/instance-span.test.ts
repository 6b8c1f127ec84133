import { expect } from 'chai';
import { spanOfInstance } from '../../../../src/mixs/telemetry/instance-span.ts';
import { spanInstance } from '../../../fakes/spans.ts';

describe('the span of a tracespan instance', () => {
  it('has an id of its own where the instance names none', () => {
    const { spanId: _, ...values } = spanInstance().values;
    const ids = [0.5, 0, 1 - 2 ** -32].map((random) => spanOfInstance(values, () => random)?.spanId);
    expect(ids).to.deep.equal(['8000000080000000', '0000000000000001', 'ffffffffffffffff']);
    expect(spanOfInstance(values, () => 0.5)?.parentSpanId).to.equal('0020000000000001');
  });

  it('is none where the id that it names is none', () => {
    const { values } = spanInstance({ spanId: 'none' });
    expect(spanOfInstance(values, () => 0.5)).to.equal(undefined);
  });
});
