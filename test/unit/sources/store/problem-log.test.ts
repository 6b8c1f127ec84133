import { expect } from 'chai';
import { createStoreProblemLog } from '../../../../src/sources/store/problem-log.ts';
import { MemoryLogger } from '../../../fakes/memory-logger.ts';

describe('the log of what is wrong with a store', () => {
  let logger: MemoryLogger;
  const started = () => {
    logger = new MemoryLogger();
    return createStoreProblemLog(logger);
  };
  const said = () =>
    logger.entries.map(({ level, message, fields }) => `${level} ${message.split(';')[0]} ${fields['problem'] ?? ''}`);
  const away = (kind: string, verb = 'watch') => ({
    path: kind,
    message: `cannot ${verb} ${kind}: connect ECONNREFUSED 127.0.0.1:6443`,
  });
  const broken = { path: 'spec', message: 'must be an object', file: 'a.yaml', line: 3 };

  it('says once that an API server is away, and that it is back', () => {
    const report = started();
    report([away('pods')]);
    report([away('pods'), away('services')]);
    report([away('pods', 'list'), away('services'), away('policies.authentication.mesh.io')]);
    report([away('services')]);
    report([]);
    report([away('services')]);
    expect(said()).to.deep.equal([
      'warn the API server cannot be followed cannot watch pods: connect ECONNREFUSED 127.0.0.1:6443',
      'info the API server is followed again ',
      'warn the API server cannot be followed cannot watch services: connect ECONNREFUSED 127.0.0.1:6443',
    ]);
    expect(logger.entries[0]?.message).to.include('what was read last stays in force');
  });

  it('names each reason that an API server gives', () => {
    const report = started();
    report([away('pods')]);
    report([{ path: 'pods', message: 'cannot list pods: the API server refuses it' }]);
    expect(logger.entries.map(({ fields }) => fields['problem'])).to.deep.equal([
      away('pods').message,
      'cannot list pods: the API server refuses it',
    ]);
  });

  it('names each manifest that is wrong once, and again when it was mended in between', () => {
    const report = started();
    const other = { ...broken, file: 'b.yaml' };
    report([broken]);
    report([broken, other]);
    report([other]);
    report([broken, other]);
    expect(said()).to.deep.equal(['a', 'b', 'a'].map((name) => `warn manifest refused ${name}.yaml:3: spec: must be an object`));
  });
});
