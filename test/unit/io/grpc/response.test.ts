import { expect } from 'chai';
import { Response } from '../../../../src/io/grpc/response.ts';
import { OK } from '../../../../src/io/grpc/status.ts';

describe('response metadata', () => {
  it('goes out with the headers and the trailers, bytes as base64 without padding', () => {
    const response = new Response('gzip');
    response.addHeader('x-text', 'one');
    response.addHeader('x-text', 'two');
    response.addTrailer('x-data-bin', Buffer.from([255]));
    expect(response.takeHeaders())
      .to.include({ ':status': 200, 'grpc-encoding': 'gzip' })
      .and.deep.include({ 'x-text': ['one', 'two'] });
    expect(response.trailers(OK)).to.deep.equal({ 'x-data-bin': ['/w'], 'grpc-status': '0' });
  });

  it('goes out in one block where there is no message', () => {
    const response = new Response('gzip');
    response.addHeader('x-text', 'one');
    response.addTrailer('x-text', 'two');
    const fields = response.takeTrailersOnly({ code: 5, message: '100%\n', details: Buffer.from([1, 2]) });
    expect(fields).to.include({ 'grpc-status': '5', 'grpc-message': '100%25%0A', 'grpc-status-details-bin': 'AQI' });
    expect(fields)
      .to.deep.include({ 'x-text': ['one', 'two'] })
      .and.not.include.keys('grpc-encoding');
  });

  it('takes no header once the headers are gone', () => {
    const response = new Response('identity');
    response.takeHeaders();
    expect(() => response.addHeader('x-text', 'late'))
      .to.throw('the headers are sent')
      .with.property('code', 'failed_precondition');
  });

  const refused: readonly (readonly [string, string | Uint8Array])[] = [
    ['X-Text', 'capitals'],
    ['', 'no name'],
    [':status', '500'],
    ['grpc-status', '0'],
    ['content-type', 'text/html'],
    ['x-text', 'ä'],
    ['x-text', 'a\r\nb'],
    ['x-text', Buffer.from('bytes')],
    ['x-data-bin', 'text'],
  ];
  for (const [key, value] of refused) {
    it(`refuses ${JSON.stringify(key)} with ${JSON.stringify(String(value))}`, () => {
      const response = new Response('identity');
      for (const add of [() => response.addHeader(key, value), () => response.addTrailer(key, value)]) {
        expect(add).to.throw().with.property('code', 'internal');
      }
    });
  }
});
