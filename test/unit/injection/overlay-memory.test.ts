import { expect } from 'chai';
import { overlaysOf } from '../../../src/injection/overlay-memory.ts';
import type { JsonObject } from '../../../src/injection/shape.ts';

/** A template that counts how often it is rendered, and adds a label with the application's name. */
function counting() {
  const state = { renders: 0 };
  const template = {
    render: (variables: JsonObject): JsonObject => {
      state.renders += 1;
      return { labels: { app: String(variables['app']), mesh: String(variables['mesh']) } };
    },
  };
  return { state, overlay: overlaysOf(template, { mesh: 'm' }) };
}

describe('the overlays of pods', () => {
  it('are made once for pods with the same variables, and anew for others', () => {
    const { state, overlay } = counting();
    const one = overlay({ app: 'a' });
    expect(one.labels).to.deep.equal({ app: 'a', mesh: 'm' });
    expect(overlay({ app: 'a' })).to.equal(one);
    expect(overlay({ app: 'b' }).labels).to.deep.equal({ app: 'b', mesh: 'm' });
    expect(state.renders).to.equal(2);
  });

  it('are kept of the latest workloads only, and not of pods with huge annotations', () => {
    const { state, overlay } = counting();
    for (let index = 0; index < 100; index++) overlay({ app: `${index}` });
    overlay({ app: '99' });
    expect(state.renders).to.equal(100);
    overlay({ app: '0' });
    expect(state.renders).to.equal(101);
    const huge = 'x'.repeat(20_000);
    overlay({ app: huge });
    overlay({ app: huge });
    expect(state.renders).to.equal(103);
  });
});
