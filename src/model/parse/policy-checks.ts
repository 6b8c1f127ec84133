import type { Problem } from '../../lib/errors.ts';
import { type Fields, isMapping } from './object.ts';
import { joinPath } from './path.ts';

/**
 * What the fields of a policy say together, and what no schema can say. Each check takes a spec that may be wrong in other ways and
 * looks at what it can read, so that every problem is told at once.
 */

export function checkTargets(spec: Fields): readonly Problem[] {
  const targets = mappings(spec.targets, 'spec.targets');
  const ports = targets.flatMap(([target, path]) =>
    mappings(target.ports, joinPath(path, 'ports')).flatMap(([port, portPath]) => exactlyOne(port, ['number', 'name'], portPath)),
  );
  return [...ports, ...repeatedTargets(targets)];
}

/** What is listed twice is one too many, or was meant to be something else. */
function repeatedTargets(targets: readonly (readonly [Fields, string])[]): readonly Problem[] {
  const first = new Map<string, string>();
  return targets.flatMap(([target, path]) =>
    claimsOf(target, path).flatMap(({ claim, at }) => {
      const earlier = first.get(claim);
      if (earlier === undefined) first.set(claim, at);
      return earlier === undefined ? [] : [{ path: at, message: `says the same as ${earlier}; list a target once` }];
    }),
  );
}

/** The service, or each of its ports, that a target is for. */
function claimsOf(target: Fields, path: string): readonly { readonly claim: string; readonly at: string }[] {
  const labels = isMapping(target.labels) ? Object.entries(target.labels).sort(([a], [b]) => (a < b ? -1 : 1)) : [];
  const ports = mappings(target.ports, joinPath(path, 'ports'));
  const claim = (port: Fields): string => JSON.stringify([target.name, labels, port.number, port.name]);
  if (ports.length === 0) return [{ claim: claim({}), at: path }];
  return ports.map(([port, at]) => ({ claim: claim(port), at }));
}

export function checkPeers(spec: Fields): readonly Problem[] {
  return mappings(spec.peers, 'spec.peers').flatMap(([peer, path]) => {
    if (peer.jwt !== undefined) {
      const message = 'a peer cannot be authenticated by a token; list the issuer under spec.origins, or use `mtls: {}`';
      return [{ path: joinPath(path, 'jwt'), message }];
    }
    return Object.keys(peer).length === 0 ? [{ path, message: 'names no method; write `mtls: {}`' }] : [];
  });
}

export function checkOrigins(spec: Fields): readonly Problem[] {
  const problems: Problem[] = [];
  const issuers = new Map<string, string>();
  for (const [origin, originPath] of mappings(spec.origins, 'spec.origins')) {
    const { jwt } = origin;
    if (!isMapping(jwt)) continue;
    const path = joinPath(originPath, 'jwt');
    const { issuer } = jwt;
    if (typeof issuer === 'string' && issuer !== '') {
      const first = issuers.get(issuer);
      if (first === undefined) issuers.set(issuer, `${path}.issuer`);
      else problems.push({ path: `${path}.issuer`, message: `"${issuer}" is already at ${first}; list an issuer once` });
    }
    problems.push(...checkKeys(jwt, path), ...checkRules(jwt, path));
  }
  return problems;
}

/** Keys come inline, from a URL, or else from where the issuer publishes them, which then must be a URL itself. */
function checkKeys({ jwks, jwksUri, issuer }: Fields, path: string): readonly Problem[] {
  if (jwks !== undefined && jwksUri !== undefined) return [{ path: `${path}.jwks`, message: 'give jwksUri or jwks, not both' }];
  if (typeof jwks === 'string' && jwks !== '') return checkInlineKeys(jwks, `${path}.jwks`);
  if (jwks !== undefined || jwksUri !== undefined || typeof issuer !== 'string' || issuer === '') return [];
  if (/^https?:\/\/[^\s/?#@]+/.test(issuer)) return [];
  const message = `required: the issuer "${issuer}" is not a URL that its keys could be discovered at; give jwksUri, or jwks`;
  return [{ path: `${path}.jwksUri`, message }];
}

/** A JSON Web Key Set (RFC 7517, section 5). */
function checkInlineKeys(jwks: string, path: string): readonly Problem[] {
  const parsed = parseJson(jwks);
  const keys = isMapping(parsed) ? parsed.keys : undefined;
  const isKeySet = Array.isArray(keys) && keys.length > 0 && keys.every((key) => isMapping(key) && typeof key.kty === 'string');
  return isKeySet ? [] : [{ path, message: 'must be a JSON Web Key Set: {"keys":[{"kty":...}]} with at least one key' }];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function checkRules(jwt: Fields, path: string): readonly Problem[] {
  return mappings(jwt.triggerRules, joinPath(path, 'triggerRules')).flatMap(([rule, rulePath]) =>
    ['excludedPaths', 'includedPaths'].flatMap((field) =>
      mappings(rule[field], joinPath(rulePath, field)).flatMap(([match, matchPath]) => checkMatch(match, matchPath)),
    ),
  );
}

function checkMatch(match: Fields, path: string): readonly Problem[] {
  const problems = exactlyOne(match, ['exact', 'prefix', 'suffix', 'regex'], path);
  const wrong = typeof match.regex === 'string' ? checkRegex(match.regex) : undefined;
  return wrong === undefined ? problems : [...problems, { path: `${path}.regex`, message: wrong }];
}

/** Envoy reads expressions with RE2 (https://github.com/google/re2/wiki/Syntax) and refuses the whole listener for a bad one. */
function checkRegex(regex: string): string | undefined {
  const withoutClasses = regex.replace(/\\[\s\S]|\[(?:\\.|[^\]\\])*\]/g, (part) => (/^\\[1-9k]/.test(part) ? part : ''));
  if (/\(\?(?:[=!]|<[=!])/.test(withoutClasses)) return 'look-ahead and look-behind are not supported (RE2)';
  if (/\\[1-9k]/.test(withoutClasses)) return 'references to groups are not supported (RE2)';
  try {
    new RegExp(
      regex
        .replace(/\(\?[imsU-]+\)/g, '')
        .replace(/\(\?[imsU-]+:/g, '(?:')
        .replaceAll('(?P<', '(?<'),
    );
    return undefined;
  } catch (error) {
    return `not a regular expression: ${error instanceof Error ? error.message.replace(/^Invalid regular expression: .*: /s, '') : String(error)}`;
  }
}

function exactlyOne(fields: Fields, names: readonly string[], path: string): readonly Problem[] {
  const given = names.filter((name) => fields[name] !== undefined);
  if (given.length === 1) return [];
  const choice = names.join(' or ');
  return [{ path, message: given.length === 0 ? `give ${choice}` : `give only one of ${choice}, not ${given.join(' and ')}` }];
}

/** The mappings of a list, with their paths; anything else in it is the schema's to report. */
function mappings(value: unknown, path: string): readonly (readonly [Fields, string])[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown, index) => (isMapping(item) ? [[item, joinPath(path, index)] as const] : []));
}
