import { expect } from 'chai';
import type { HttpResponse } from '../../../../src/io/http/types.ts';
import { LogScopes } from '../../../../src/io/log/scopes.ts';
import { scopesPage } from '../../../../src/io/log/scopes-page.ts';
import { MeshError } from '../../../../src/lib/errors.ts';
import { httpRequest } from '../../../fakes/http-request.ts';

const newScopes = () =>
  new LogScopes({ names: ['default', 'ads'], output: new Map([['default', 'info']]), stack: new Map(), callers: new Set() });

async function ask(scopes: LogScopes, line: string, body = '', remoteAddress = '127.0.0.1'): Promise<HttpResponse> {
  const response = scopesPage(scopes, { ...httpRequest(line, { body }), remoteAddress });
  if (response === undefined) throw new Error('the page is of somebody else');
  return response;
}

const json = (response: HttpResponse): unknown => JSON.parse(String(response.body));
const ADS = { name: 'ads', outputLevel: 'info', stackTraceLevel: 'none', logCaller: false };

describe('page of log scopes', () => {
  it('lists the scopes and shows one', async () => {
    expect(json(await ask(newScopes(), 'GET /scopez'))).to.deep.equal([{ ...ADS, name: 'default' }, ADS]);
    expect(json(await ask(newScopes(), 'GET /scopez/ads', '', '10.0.0.9'))).to.deep.equal(ADS);
  });

  it('changes what is given', async () => {
    const scopes = newScopes();
    const changed = { ...ADS, outputLevel: 'debug' };
    expect(json(await ask(scopes, 'PUT /scopez/ads', '{"outputLevel":"debug"}'))).to.deep.equal(changed);
    const whole = { outputLevel: 'none', stackTraceLevel: 'error', logCaller: true };
    expect(json(await ask(scopes, 'POST /scopez/ads', JSON.stringify(whole)))).to.deep.equal({ name: 'ads', ...whole });
    expect(scopes.outputLevel('default')).to.equal('info');
  });

  const REFUSED: readonly (readonly [line: string, body: string, code: string, message: string])[] = [
    ['GET /scopez/adz', '', 'not_found', 'there is no log scope "adz"; the scopes are default, ads; did you mean "ads"?'],
    ['PUT /scopez/', '{"outputLevel":"debug"}', 'not_found', 'there is no log scope ""; the scopes are default, ads'],
    [
      'PUT /scopez/ads',
      '{"outputLevel":"debgu"}',
      'invalid',
      'outputLevel: "debgu" is not a level; the levels are debug, info, warn, error, none; did you mean "debug"?',
    ],
    [
      'PUT /scopez/ads',
      '{"stackTraceLevel":3}',
      'invalid',
      'stackTraceLevel: 3 is not a level; the levels are debug, info, warn, error, none',
    ],
    ['PUT /scopez/ads', '{"logCaller":"yes"}', 'invalid', 'logCaller: "yes" is neither true nor false'],
    [
      'PUT /scopez/ads',
      '{"outputlevel":"debug"}',
      'invalid',
      'there is no field "outputlevel"; the fields are outputLevel, stackTraceLevel, logCaller; did you mean "outputLevel"?',
    ],
    ['PUT /scopez/ads', '{}', 'invalid', 'nothing is changed: give outputLevel, stackTraceLevel, logCaller or some of them'],
    ['PUT /scopez/ads', '[]', 'invalid', 'the body is not an object such as {"outputLevel": "debug"}'],
    ['PUT /scopez/ads', 'debug', 'invalid', 'the body is not JSON such as {"outputLevel": "debug"}'],
  ];
  for (const [line, body, code, message] of REFUSED)
    it(`refuses ${line} ${body}`, async () => {
      const error = await ask(newScopes(), line, body).catch(MeshError.from);
      expect(error).to.include({ code, message });
    });

  it('is changed from this host alone', async () => {
    for (const address of ['10.0.0.9', '127.0.0.6', '::ffff:10.0.0.9']) {
      const scopes = newScopes();
      const error = await ask(scopes, 'PUT /scopez/ads', '{"outputLevel":"none"}', address).catch(MeshError.from);
      expect(error).to.have.property('code', 'permission_denied');
      expect(scopes.outputLevel('ads')).to.equal('info');
    }
  });

  it('says which methods there are, and leaves other paths alone', async () => {
    expect(await ask(newScopes(), 'DELETE /scopez/ads')).to.deep.include({
      status: 405,
      headers: { allow: 'GET, HEAD, PUT, POST' },
    });
    expect(await ask(newScopes(), 'PUT /scopez')).to.deep.include({ status: 405, headers: { allow: 'GET, HEAD' } });
    expect(scopesPage(newScopes(), httpRequest('GET /scopezz'))).to.equal(undefined);
  });
});
