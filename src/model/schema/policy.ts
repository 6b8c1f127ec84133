/**
 * JSON Schema (2020-12) of the `spec` of Policy and MeshPolicy, compiled ahead of time. What one field alone can get wrong is said
 * here, `message` being the reason in words; what fields say together is checked in model/parse/policy-checks.ts.
 */

const NOT_EMPTY = { type: 'string', minLength: 1 } as const;
const TEXTS = { type: 'array', items: NOT_EMPTY } as const;

const PEER = {
  type: 'object',
  additionalProperties: false,
  properties: {
    mtls: {
      type: 'object',
      // `mtls:` with nothing behind it is `mtls: {}`; an API server would drop it otherwise.
      nullable: true,
      additionalProperties: false,
      properties: { mode: { enum: ['STRICT', 'PERMISSIVE'] }, allowTls: { type: 'boolean' } },
    },
    jwt: { type: 'object' },
  },
} as const;

const HEADER_NAME = {
  type: 'string',
  pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
  message: 'must be the name of a header, such as x-jwt-assertion',
} as const;

const PORT = {
  type: 'object',
  additionalProperties: false,
  properties: {
    number: { type: 'integer', minimum: 1, maximum: 65535, message: 'must be a port number from 1 to 65535' },
    name: NOT_EMPTY,
  },
} as const;

const TARGET = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: {
      type: 'string',
      maxLength: 63,
      pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
      message: 'must be the short name of a service in the namespace of the policy: a DNS label such as httpbin',
    },
    ports: { type: 'array', items: PORT },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
  },
} as const;

const STRING_MATCH = {
  type: 'object',
  additionalProperties: false,
  properties: { exact: NOT_EMPTY, prefix: NOT_EMPTY, suffix: NOT_EMPTY, regex: NOT_EMPTY },
} as const;

const PATHS = { type: 'array', items: STRING_MATCH } as const;

const TRIGGER_RULE = {
  type: 'object',
  additionalProperties: false,
  properties: { excludedPaths: PATHS, includedPaths: PATHS },
} as const;

const JWT = {
  type: 'object',
  additionalProperties: false,
  required: ['issuer'],
  properties: {
    issuer: { ...NOT_EMPTY, message: 'must not be empty: the `iss` that tokens carry' },
    audiences: TEXTS,
    jwksUri: {
      type: 'string',
      pattern:
        '^https?://(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?\\.?)(:(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}))?([/?][^\\s#]*)?$',
      message:
        'must be an http or https URL, its port a number from 1 to 65535, such as https://example.com/.well-known/jwks.json',
    },
    jwks: NOT_EMPTY,
    jwtHeaders: { type: 'array', items: HEADER_NAME },
    jwtParams: TEXTS,
    triggerRules: { type: 'array', items: TRIGGER_RULE },
  },
} as const;

const ORIGIN = { type: 'object', additionalProperties: false, required: ['jwt'], properties: { jwt: JWT } } as const;

export const POLICY_SPEC = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  additionalProperties: false,
  properties: {
    targets: { type: 'array', items: TARGET },
    peers: { type: 'array', items: PEER },
    peerIsOptional: { type: 'boolean' },
    origins: { type: 'array', items: ORIGIN },
    originIsOptional: { type: 'boolean' },
    principalBinding: { enum: ['USE_PEER', 'USE_ORIGIN'] },
  },
} as const;
