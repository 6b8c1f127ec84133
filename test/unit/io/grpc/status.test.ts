import { expect } from 'chai';
import { errorCodeOf, GrpcCode, grpcCodeOf, statusOf } from '../../../../src/io/grpc/status.ts';
import { type ErrorCode, MeshError } from '../../../../src/lib/errors.ts';

const TABLE: readonly (readonly [ErrorCode, number, ErrorCode])[] = [
  ['invalid', 3, 'invalid'],
  ['usage', 3, 'invalid'],
  ['not_found', 5, 'not_found'],
  ['already_exists', 6, 'already_exists'],
  ['conflict', 10, 'conflict'],
  ['permission_denied', 7, 'permission_denied'],
  ['unauthenticated', 16, 'unauthenticated'],
  ['unavailable', 14, 'unavailable'],
  ['deadline_exceeded', 4, 'deadline_exceeded'],
  ['resource_exhausted', 8, 'resource_exhausted'],
  ['failed_precondition', 9, 'failed_precondition'],
  ['unimplemented', 12, 'unimplemented'],
  ['cancelled', 1, 'cancelled'],
  ['internal', 13, 'internal'],
];

describe('gRPC status codes', () => {
  for (const [code, status, back] of TABLE) {
    it(`${code} is ${status} on the wire and ${back} again`, () => {
      expect(grpcCodeOf(code)).to.equal(status);
      expect(errorCodeOf(status)).to.equal(back);
    });
  }

  it('gives every code of the wire a meaning, unknown ones too', () => {
    const codes = Object.values(GrpcCode).map(errorCodeOf);
    expect(codes).to.have.length(17);
    expect(errorCodeOf(99)).to.equal('internal');
    expect(errorCodeOf(GrpcCode.DATA_LOSS)).to.equal('internal');
  });

  it('tells the message of an expected error, and neither message nor cause of an internal one', () => {
    expect(statusOf(new MeshError('not_found', 'no such thing', new Error('secret')))).to.deep.equal({
      code: 5,
      message: 'no such thing',
    });
    expect(statusOf(new Error('password is hunter2'))).to.deep.equal({ code: 13, message: 'internal error' });
    expect(statusOf('thrown text')).to.deep.equal({ code: 13, message: 'internal error' });
  });
});
