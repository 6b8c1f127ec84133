import { expect } from 'chai';
import install from '../../src/commands/meshctl/install.ts';
import uninstall from '../../src/commands/meshctl/uninstall.ts';
import { groupOf } from '../../src/model/kinds.ts';
import { ruleKinds } from '../../src/rules/config/kinds.ts';
import { requireCluster, type TestCluster } from '../harness/cluster.ts';
import { runMeshctl } from '../harness/meshctl-run.ts';

/** Not the one of the other tests on this cluster. */
const DOMAIN = 'rights.test';
const CONTROL = 'mesh-of-rights';
const ELSEWHERE = 'default';
const GROUP = `authentication.${DOMAIN}`;

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

describe('the rights of the control plane, as the API server sees them', function () {
  this.timeout(120_000);
  let cluster: TestCluster;

  before(async function () {
    cluster = await requireCluster(this);
    const args = ['--apply', '--namespace', CONTROL, '--orchconfig', cluster.kubeconfig];
    const { code, err } = await runMeshctl(install, args, { domain: DOMAIN });
    expect(code, err).to.equal(0);
  });
  after(async () => {
    if (cluster === undefined) return;
    const args = ['--purge', '--yes', '--namespace', CONTROL, '--orchconfig', cluster.kubeconfig];
    await runMeshctl(uninstall, args, { domain: DOMAIN });
  });

  /** `verbs resource.group[names]`, of a service account in a namespace, without what every account may. */
  async function rightsOf(account: string, namespace: string): Promise<readonly string[]> {
    const all = await rulesOf(account, namespace);
    const everybodys = new Set(await rulesOf('default', namespace));
    return all.filter((rule) => !everybodys.has(rule)).sort();
  }

  /** https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-rules-review-v1/ */
  async function rulesOf(account: string, namespace: string): Promise<readonly string[]> {
    const review = JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      spec: { namespace },
    });
    const user = `system:serviceaccount:${CONTROL}:${account}`;
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${CONTROL}`, 'system:authenticated'];
    const as = [`--as=${user}`, ...groups.map((group) => `--as-group=${group}`)];
    const { status } = JSON.parse(cluster.kubectl(['create', '--validate=false', '-f', '-', '-o', 'json', ...as], review));
    return (status.resourceRules as readonly Rule[]).flatMap(linesOf);
  }

  function linesOf({ apiGroups = [], resources = [], resourceNames = [], verbs }: Rule): readonly string[] {
    const names = resourceNames.length === 0 ? '' : `[${resourceNames.join(' ')}]`;
    const qualified = apiGroups.flatMap((group) =>
      resources.map((resource) => (group === '' ? resource : `${resource}.${group}`)),
    );
    return qualified.map((resource) => `${verbs.toSorted().join(',')} ${resource}${names}`);
  }

  const READ = 'get,list,watch';
  const PILOT = [
    `${READ} services`,
    `${READ} pods`,
    `${READ} nodes`,
    `${READ} namespaces`,
    `${READ} endpointslices.discovery.k8s.io`,
    `${READ} policies.${GROUP}`,
    `${READ} meshpolicies.${GROUP}`,
    `update policies/status.${GROUP}`,
    `update meshpolicies/status.${GROUP}`,
    `get,list,update,watch validatingwebhookconfigurations.admissionregistration.k8s.io[mesh-policy-validation-${CONTROL}]`,
  ];
  const INJECTOR = ['get,list,update,watch mutatingwebhookconfigurations.admissionregistration.k8s.io[mesh-sidecar-injector]'];

  it('let pilot-discovery read what it serves, write the status of policies and the CA bundle of its webhook', async () => {
    expect(await rightsOf('mesh-pilot-service-account', ELSEWHERE)).to.have.members(PILOT);
    expect(await rightsOf('mesh-pilot-service-account', CONTROL)).to.have.members([...PILOT, `${READ} configmaps`]);
  });

  it('let the injector write the CA bundle of its webhook, and nothing else', async () => {
    expect(await rightsOf('mesh-sidecar-injector-service-account', ELSEWHERE)).to.have.members(INJECTOR);
    expect(await rightsOf('mesh-sidecar-injector-service-account', CONTROL)).to.have.members(INJECTOR);
  });

  it('let mixs read its rules and who is called by which address, and nothing else', async () => {
    const kinds = ruleKinds(DOMAIN).map(({ resource }) => `list,watch ${resource.plural}.${groupOf(resource)}`);
    const mixs = [...kinds, 'list,watch pods'];
    expect(await rightsOf('mesh-mixs-service-account', ELSEWHERE)).to.have.members(mixs);
    expect(await rightsOf('mesh-mixs-service-account', CONTROL)).to.have.members(mixs);
  });

  it('let mesh_ca alone see secrets, and write nothing but what identities are kept in', async () => {
    const rules = await rightsOf('mesh-citadel-service-account', ELSEWHERE);
    const writing = rules.filter((rule) =>
      rule
        .split(' ')[0]
        ?.split(',')
        .some((verb) => !READ.includes(verb)),
    );
    expect(writing.map((rule) => rule.replace(/^\S+ /, ''))).to.have.members([
      'secrets',
      'configmaps',
      'configmaps[mesh-ca-root-cert]',
      'tokenreviews.authentication.k8s.io',
    ]);
    expect(rules.join('\n')).not.to.match(/\*|rbac|impersonate|escalate|bind/);
  });
});
