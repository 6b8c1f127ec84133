import { expect } from 'chai';
import { parsePodLabels } from '../../../src/pilot-agent/pod-info.ts';

describe('labels of the downward API', () => {
  it('are sorted by name', () => {
    expect(parsePodLabels('version="v1"\napp.kubernetes.io/name="web"\nempty=""\n')).to.deep.equal({
      ok: true,
      value: { 'app.kubernetes.io/name': 'web', empty: '', version: 'v1' },
    });
  });

  it('may be none', () => {
    expect(parsePodLabels('')).to.deep.equal({ ok: true, value: {} });
  });

  it('name the line that is broken', () => {
    expect(parsePodLabels('app="web"\nversion=v1')).to.deep.equal({
      ok: false,
      problems: [{ path: '', line: 2, message: 'is not a line like app="httpbin"' }],
    });
  });
});
