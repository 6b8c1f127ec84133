import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { namesFor } from '../../../src/lib/names.ts';
import type { KubeObject } from '../../../src/model/object.ts';
import { validateObject } from '../../../src/model/parse/validate.ts';
import { readYaml } from '../../../src/model/parse/yaml.ts';
import { compileConfiguration } from '../../../src/rules/config/compile.ts';

function objectsOf(file: string): readonly KubeObject[] {
  const read = readYaml(readFileSync(`examples/mixs/${file}`, 'utf8'));
  if (!read.ok) throw new Error(read.problem.message);
  return read.value.values as readonly KubeObject[];
}

describe('examples/mixs', () => {
  it('has rules that are in force as a whole', () => {
    const { problems, rules } = compileConfiguration(objectsOf('rules.yaml'));
    expect(problems).to.deep.equal([]);
    expect([...rules.keys()]).to.have.length(4);
  });

  it('has rules for back ends that are in force beside the others', () => {
    const backEnds = ['redis', 'zipkin'].flatMap((name) => objectsOf(`backends/${name}.yaml`));
    const replaced = new Set(backEnds.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
    const others = objectsOf('rules.yaml').filter(({ kind, metadata }) => !replaced.has(`${kind} ${metadata.name}`));
    const { problems, rules } = compileConfiguration(
      [...others, ...backEnds].filter(({ apiVersion, kind, metadata: { name } }) => {
        // Nothing is counted there any more.
        return apiVersion.startsWith('config.') && `${kind} ${name}` !== 'memquota counter';
      }),
    );
    expect(problems).to.deep.equal([]);
    expect([...rules.keys()]).to.have.length(5);
  });

  it('has a mesh configuration that is taken', () => {
    const [map] = objectsOf('mesh.yaml');
    expect(map && validateObject(map, namesFor('mesh.io'))).to.deep.equal([]);
  });
});
