import { readdirSync, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { Parsed } from '../../../src/lib/errors.ts';
import { DEFAULT_DOMAIN, namesFor } from '../../../src/lib/names.ts';
import { readSources } from '../../../src/meshctl/inject/files.ts';
import { injectText } from '../../../src/meshctl/inject/inject-text.ts';
import type { KubeObject } from '../../../src/model/object.ts';
import { readDocuments } from '../../../src/model/parse/document.ts';
import { parseMeshConfig } from '../../../src/model/parse/mesh-config.ts';
import { parsePolicy } from '../../../src/model/parse/policy.ts';
import { fakeInjection } from '../../fakes/injection.ts';

const POLICIES = 'examples/reference/policies';

describe('reference scenario', () => {
  it('has sidecars in foo and bar, and none elsewhere', async () => {
    const sources = await readSources(['examples/reference'], { cwd: process.cwd(), stdin: Readable.from([]) });
    const result = injectText(sources, { context: fakeInjection(), defaultNamespace: 'default', force: false });
    expect(result.problems).to.deep.equal([]);
    const injected = result.notes.filter((note) => note.includes(': injected')).map((note) => note.slice(0, note.indexOf(':')));
    const expected = ['bar', 'foo'].flatMap((namespace) =>
      ['httpbin', 'other', 'sleep'].map((name) => `Deployment ${namespace}/${name}`),
    );
    expect(injected).to.deep.equal(expected);
    expect(result.notes).to.have.length(10);
  });

  for (const file of readdirSync(POLICIES).sort()) {
    it(`has a good document in policies/${file}`, () => {
      const { documents, problems } = readDocuments(readFileSync(`${POLICIES}/${file}`, 'utf8'));
      expect(problems).to.deep.equal([]);
      expect(documents).to.have.length(1);
      expect(parsed(documents[0]?.value as KubeObject)).to.have.property('ok', true);
    });
  }
});

/** A policy, or the ConfigMap with the mesh configuration. */
function parsed(object: KubeObject): Parsed<unknown> {
  if (object.kind === 'Policy') return parsePolicy(object, namesFor(DEFAULT_DOMAIN));
  return parseMeshConfig((object['data'] as Record<string, string>)['mesh']);
}
