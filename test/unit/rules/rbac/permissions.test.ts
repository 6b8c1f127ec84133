import { expect } from 'chai';
import fc from 'fast-check';
import type { KubeObject } from '../../../../src/model/object.ts';
import { compileConfiguration } from '../../../../src/rules/config/compile.ts';
import type { Access } from '../../../../src/rules/rbac/permissions.ts';
import { roleObject } from '../../../fakes/rule-objects.ts';

const role = (name: string, ...rules: readonly object[]): KubeObject => roleObject('ServiceRole', name, { rules });
const binding = (name: string, to: string, ...subjects: readonly object[]): KubeObject =>
  roleObject('ServiceRoleBinding', name, { subjects, roleRef: { kind: 'ServiceRole', name: to } });

interface Request {
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly from?: Readonly<Record<string, string>>;
  readonly namespace?: string;
  readonly service?: string;
  readonly method?: string;
  readonly path?: string;
  readonly properties?: Readonly<Record<string, string>>;
}

const accessOf = ({ user, groups = [], from = {}, namespace = 'foo', service = 'api', ...rest }: Request): Access => ({
  user,
  groups,
  subjectProperty: (name) => from[name],
  namespace,
  service,
  method: rest.method,
  path: rest.path,
  actionProperty: (key) => rest.properties?.[key],
});

function permit(objects: readonly KubeObject[], request: Request): string {
  const { permissions, problems } = compileConfiguration(objects);
  expect(problems).to.deep.equal([]);
  const found = permissions.permitOf(accessOf(request));
  return found === undefined ? 'refused' : `${found.role}/${found.binding}`;
}

const problemsOf = (...objects: readonly KubeObject[]): readonly string[] =>
  compileConfiguration(objects).problems.map(({ path, message, inForce }) => `${path}: ${message} (${inForce})`);

const EVERYBODY = { user: '*' };

describe('what roles and bindings allow', () => {
  it('is nothing without a role, a binding, or either in the namespace of the service', () => {
    const [reader, readers] = [role('reader', { services: ['*'] }), binding('readers', 'reader', EVERYBODY)];
    expect(permit([], {})).to.equal('refused');
    expect(permit([reader], {})).to.equal('refused');
    expect(permit([reader, readers], {})).to.equal('reader/readers');
    expect(permit([reader, readers], { namespace: 'bar' })).to.equal('refused');
  });

  it('finds services, paths, methods and constraints by text or with a * at one end', () => {
    const cases: readonly (readonly [rule: object, request: Request, allowed: boolean])[] = [
      [{ services: ['api'] }, {}, true],
      [{ services: ['api'] }, { service: 'api2' }, false],
      [{ services: ['other', 'ap*'] }, {}, true],
      [{ services: ['apis*'] }, {}, false],
      [{ services: ['*.svc'] }, { service: 'api.svc' }, true],
      [{ services: ['*.svc'] }, { service: 'svc' }, false],
      [{ services: ['api'], paths: ['/a/*', '*.html'] }, { path: '/a/b' }, true],
      [{ services: ['api'], paths: ['/a/*', '*.html'] }, { path: '/b.html' }, true],
      [{ services: ['api'], paths: ['/a/*', '*.html'] }, { path: '/b' }, false],
      [{ services: ['api'], paths: ['/a'] }, {}, false],
      [{ services: ['api'], paths: ['*'], methods: ['*'] }, {}, true],
      [{ services: ['api'], methods: ['GET', 'HEAD'] }, { method: 'HEAD' }, true],
      [{ services: ['api'], methods: ['GET', 'HEAD'] }, { method: 'get' }, false],
      [{ services: ['api'], methods: ['GET'] }, {}, false],
      [
        { services: ['api'], constraints: [{ key: 'version', values: ['v1', 'v2*'] }] },
        { properties: { version: 'v2.1' } },
        true,
      ],
      [{ services: ['api'], constraints: [{ key: 'version', values: ['v1'] }] }, { properties: { version: 'v2' } }, false],
      [{ services: ['api'], constraints: [{ key: 'version', values: ['*'] }] }, {}, false],
      [
        {
          services: ['api'],
          constraints: [
            { key: 'a', values: ['*'] },
            { key: 'b', values: ['1'] },
          ],
        },
        { properties: { a: '1', b: '2' } },
        false,
      ],
    ];
    for (const [rule, request, allowed] of cases) {
      const answer = permit([role('r', rule), binding('b', 'r', EVERYBODY)], request);
      expect(answer, JSON.stringify([rule, request])).to.equal(allowed ? 'r/b' : 'refused');
    }
  });

  it('is for subjects all of whose fields fit', () => {
    const cases: readonly (readonly [subject: object, request: Request, allowed: boolean])[] = [
      [{ user: '*' }, {}, true],
      [{ user: 'me' }, { user: 'me' }, true],
      [{ user: 'me' }, { user: 'you' }, false],
      [{ user: 'me' }, {}, false],
      [{ user: 'cluster.local/ns/bar/*' }, { user: 'cluster.local/ns/bar/sa/sleep' }, true],
      [{ group: 'admins' }, { groups: ['users', 'admins'] }, true],
      [{ group: 'admins' }, { groups: ['users'] }, false],
      [{ group: '*' }, {}, false],
      [{ groups: ['admins', 'ops*'] }, { groups: ['opsec'] }, true],
      [{ properties: { 'source.namespace': 'bar' } }, { from: { 'source.namespace': 'bar' } }, true],
      [{ properties: { 'source.namespace': '*' } }, {}, false],
      [{ properties: { a: '1', b: '2' } }, { from: { a: '1', b: '3' } }, false],
      // Peers take a subject whose user fits although its properties do not.
      [{ user: 'me', properties: { a: '1' } }, { user: 'me', from: { a: '2' } }, false],
      [{ user: 'me', group: 'admins' }, { user: 'me', groups: ['admins'] }, true],
    ];
    for (const [subject, request, allowed] of cases) {
      const answer = permit([role('r', { services: ['*'] }), binding('b', 'r', { user: 'nobody' }, subject)], request);
      expect(answer, JSON.stringify([subject, request])).to.equal(allowed ? 'r/b' : 'refused');
    }
  });

  it('takes back what a role or a binding allowed as soon as it is gone or cannot be read', () => {
    const good = [role('r', { services: ['*'] }), binding('b', 'r', EVERYBODY)];
    const before = compileConfiguration(good);
    const changed = (...objects: readonly KubeObject[]): boolean =>
      compileConfiguration(objects, before).permissions.permitOf(accessOf({})) !== undefined;
    expect(changed(...good)).to.equal(true);
    expect(changed(role('r', { services: ['*'] }))).to.equal(false);
    expect(changed(binding('b', 'r', EVERYBODY))).to.equal(false);
    expect(changed(role('r', { services: [] }), binding('b', 'r', EVERYBODY))).to.equal(false);
    expect(changed(role('r', { services: ['*'] }), binding('b', 'r', {}))).to.equal(false);
  });

  it('tells what is wrong with its path, and what is only not there yet', () => {
    expect(
      problemsOf(
        role('r', { services: ['a*b', ''], path: ['/'], methods: ['G*'], paths: [], constraints: [{ key: '', values: ['**'] }] }),
        role('none'),
        role('nowhere', {}),
      ),
    ).to.deep.equal([
      'spec.rules[0].path: unknown field; did you mean "paths"? (absent)',
      'spec.rules[0].methods: a method is written out, or * for any (absent)',
      'spec.rules[0].services[0]: "a*b": a * stands at the beginning or at the end, for any text there (absent)',
      'spec.rules[0].services[1]: must not be empty (absent)',
      'spec.rules[0].paths: must not be empty; * stands for any (absent)',
      'spec.rules[0].constraints[0].key: is required (absent)',
      'spec.rules[0].constraints[0].values[0]: "**": a * stands at the beginning or at the end, for any text there (absent)',
      'spec.rules: is required: a role without rules allows nothing (absent)',
      'spec.rules[0].services: is required (absent)',
    ]);
    const subjects = [{}, { group: 'a', groups: ['b'] }, { user: '' }, { properties: { a: 1 } }];
    expect(
      problemsOf(
        roleObject('ServiceRoleBinding', 'b', { subjects, roleRef: { kind: 'Role' } }),
        roleObject('ServiceRoleBinding', 'c', {}),
      ),
    ).to.deep.equal([
      'spec.subjects[0].user: a subject has a user, a group or properties; the user * is everybody (absent)',
      'spec.subjects[1].groups: stands beside group; one of them is enough (absent)',
      'spec.subjects[2].user: must not be empty (absent)',
      'spec.subjects[3].properties.a: expected a text, got 1 (put it in quotes) (absent)',
      'spec.subjects[3].user: a subject has a user, a group or properties; the user * is everybody (absent)',
      'spec.roleRef.kind: "Role" is not ServiceRole (absent)',
      'spec.roleRef.name: is required (absent)',
      'spec.subjects: is required (absent)',
      'spec.roleRef: is required (absent)',
    ]);
    const [problem] = compileConfiguration([binding('b', 'r', EVERYBODY)]).problems;
    expect(problem).to.include({
      path: 'spec.roleRef.name',
      message: 'there is no r.ServiceRole.foo in force',
      dangling: true,
      inForce: 'absent',
    });
  });

  it('is what a look at every role, rule and binding in turn finds', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 3 });
    const pattern = fc.oneof(
      text,
      fc.constant('*'),
      text.map((part) => `${part}*`),
      text.map((part) => `*${part}`),
    );
    const namespace = fc.constantFrom('foo', 'bar');
    const roles = fc.uniqueArray(
      fc.record({
        name: text,
        namespace,
        rules: fc.array(
          fc.record({
            services: fc.array(pattern, { minLength: 1, maxLength: 3 }),
            paths: fc.array(pattern, { minLength: 1, maxLength: 2 }),
          }),
          { minLength: 1, maxLength: 3 },
        ),
      }),
      { maxLength: 5, selector: ({ name, namespace: of }) => `${of}/${name}` },
    );
    const bindings = fc.array(fc.record({ role: text, namespace, user: pattern }), { maxLength: 5 });
    const request = fc.record({ namespace, service: text, path: text, user: text });
    const plainFits = (one: string, value: string): boolean => new RegExp(`^${one.replaceAll('*', '.*')}$`).test(value);
    fc.assert(
      fc.property(roles, bindings, request, (allRoles, allBindings, asked) => {
        const { permissions } = compileConfiguration([
          ...allRoles.map(({ name, namespace: of, rules }) => roleObject('ServiceRole', name, { rules }, of)),
          ...allBindings.map(({ role: to, namespace: of, user }, index) =>
            roleObject(
              'ServiceRoleBinding',
              `b${index}`,
              { subjects: [{ user }], roleRef: { kind: 'ServiceRole', name: to } },
              of,
            ),
          ),
        ]);
        const expected = allRoles.some(
          ({ name, namespace: of, rules }) =>
            of === asked.namespace &&
            rules.some(
              ({ services, paths }) =>
                services.some((one) => plainFits(one, asked.service)) && paths.some((one) => plainFits(one, asked.path)),
            ) &&
            allBindings.some((bound) => bound.role === name && bound.namespace === of && plainFits(bound.user, asked.user)),
        );
        expect(permissions.permitOf(accessOf(asked)) !== undefined).to.equal(expected);
      }),
    );
  });
});
