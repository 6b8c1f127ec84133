import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { quote } from '../../../src/lab/kubelet/container-script.ts';
import { containerEnvironment } from '../../../src/lab/kubelet/environment.ts';
import { expandReferences } from '../../../src/lab/kubelet/expand.ts';
import { imageProgram, parseImageMapping, repositoryOf } from '../../../src/lab/kubelet/image.ts';
import { planMounts } from '../../../src/lab/kubelet/mount-plan.ts';
import { parsePodSpec } from '../../../src/lab/kubelet/parse-pod-spec.ts';
import type { ContainerSpec } from '../../../src/lab/kubelet/pod-spec.ts';
import { setprivArguments } from '../../../src/lab/kubelet/privileges.ts';

function container(fields: Readonly<Record<string, unknown>>): ContainerSpec {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [{ name: 'c', ...fields }] } };
  const parsed = parsePodSpec(pod);
  const [first] = parsed.ok ? parsed.value.containers : [];
  if (first === undefined) throw new Error(JSON.stringify(parsed));
  return first;
}

describe('lab images', () => {
  const backEnds = new Map([['redis', ['redis-server']]]);
  const none = { mapped: new Map<string, string>(), hostHas: () => false, backEnds };
  const host = { ...none, hostHas: () => true };

  it('reads an image name without tag and digest', () => {
    expect(repositoryOf('docker.io/foo/httpbin:1')).to.equal('docker.io/foo/httpbin');
    expect(repositoryOf('localhost:5000/web')).to.equal('localhost:5000/web');
    expect(repositoryOf('web:1@sha256:abc')).to.equal('web');
  });

  const cases: readonly [string, Readonly<Record<string, unknown>>, typeof none, unknown][] = [
    [
      'the proxy by its last two names',
      { image: 'docker.io/mesh/proxy:1', args: ['proxy'] },
      none,
      { type: 'mesh', args: ['pilot-agent', 'proxy'] },
    ],
    ['the init image', { image: 'mesh/proxy-init', args: ['-p', '1'] }, none, { type: 'mesh', args: ['mesh-init', '-p', '1'] }],
    [
      'the image of the control plane, by its command or without one',
      { image: 'registry.example.com:5000/mesh/mesh:0.1.0', command: ['mesh'], args: ['mesh_ca', '--self-signed-ca'] },
      host,
      { type: 'mesh', args: ['mesh_ca', '--self-signed-ca'] },
    ],
    [
      'httpbin with the ports of the container',
      { image: 'docker.io/foo/httpbin:1', ports: [{ containerPort: 80 }, { containerPort: 53, protocol: 'UDP' }] },
      none,
      { type: 'mesh', args: ['lab', 'image', 'httpbin', '--port', '80'] },
    ],
    [
      'httpbin whose command is only in its image',
      { image: 'httpbin', command: ['gunicorn'], args: ['-b', ':80'] },
      none,
      { type: 'mesh', args: ['lab', 'image', 'httpbin'] },
    ],
    ['httpbin whose command the host has', { image: 'httpbin', command: ['x'] }, host, { type: 'host', argv: ['x'] }],
    ['sleep', { image: 'sleep' }, none, { type: 'host', argv: ['sleep', 'infinity'] }],
    [
      'any image by its command',
      { image: 'any', command: ['a', 'b'], args: ['c'] },
      none,
      { type: 'host', argv: ['a', 'b', 'c'] },
    ],
    [
      'a back end with its arguments',
      { image: 'library/redis:8', args: ['--save', ''] },
      none,
      { type: 'host', argv: ['redis-server', '--save', ''] },
    ],
    ['a back end by its own command', { image: 'redis', command: ['other'] }, none, { type: 'host', argv: ['other'] }],
    [
      'an image of --image before its command',
      { image: 'r/web:2', command: ['a'] },
      { ...none, mapped: new Map([['web', 'python3 -m http.server']]) },
      { type: 'host', argv: ['/bin/sh', '-c', 'exec python3 -m http.server "$@"', 'web'] },
    ],
  ];
  for (const [title, fields, rules, expected] of cases) {
    it(`runs ${title}`, () => expect(imageProgram(container(fields), rules)).to.deep.equal(expected));
  }

  it('says what to do about an image with nothing to run', () => {
    expect(() => imageProgram(container({ image: 'r/web:2', args: ['x'] }), none))
      .to.throw('the lab has no image "r/web:2"')
      .with.property('code', 'not_found');
  });

  it('reads NAME=CMD and refuses anything else', () => {
    expect(parseImageMapping('web=a b=c')).to.deep.equal(['web', 'a b=c']);
    for (const bad of ['web', '=cmd', 'web= ']) expect(() => parseImageMapping(bad)).to.throw('is not NAME=CMD');
  });
});

describe('lab container environment', () => {
  it('expands references as Kubernetes does', () => {
    const values = new Map([['A', '1']]);
    expect(expandReferences('$(A) $$(A) $(B) $A', values)).to.equal('1 $(A) $(B) $A');
  });

  it('lets later variables use earlier ones, and names what is missing', () => {
    const keys = (_: string, name: string) => (name === 'have' ? new Map([['k', 'v']]) : undefined);
    const field = (path: string) => (path === 'status.podIP' ? '10.244.0.2' : undefined);
    const good = container({
      envFrom: [{ prefix: 'P_', configMapRef: { name: 'have' } }],
      env: [
        { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        { name: 'URL', value: 'http://$(IP)/' },
        { name: 'NONE', valueFrom: { secretKeyRef: { name: 'gone', key: 'k', optional: true } } },
      ],
    });
    const found = containerEnvironment(good, { keys, field });
    expect(found).to.deep.equal({
      ok: true,
      value: new Map([
        ['P_k', 'v'],
        ['IP', '10.244.0.2'],
        ['URL', 'http://10.244.0.2/'],
      ]),
    });
    const bad = container({ env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'have', key: 'z' } } }] });
    expect(containerEnvironment(bad, { keys, field })).to.deep.equal({
      ok: false,
      problems: [{ path: 'configMapKeyRef', message: 'ConfigMap "have" has no key "z"' }],
    });
  });
});

describe('lab mounts', () => {
  const directories = new Set(['/etc', '/run', '/etc/ssl', '/etc/hosts']);
  const host = {
    resolve(path: string) {
      const real = path.replace(/^\/var\/run/, '/run');
      return directories.has(real)
        ? { path: real, type: real === '/etc/hosts' ? ('file' as const) : ('directory' as const) }
        : undefined;
    },
  };
  const bind = (target: string) => ({ source: 's', target, type: 'directory' as const, readOnly: false });

  it('covers the nearest directory where a mount point is missing, through links', () => {
    const plan = planMounts([bind('/var/run/secrets/tokens'), bind('/etc/hosts')], host);
    expect(plan.overlays).to.deep.equal(['/run']);
    expect(plan.binds.map(({ target }) => target)).to.deep.equal(['/etc/hosts', '/run/secrets/tokens']);
  });

  it('covers only the outer one of nested directories', () => {
    expect(planMounts([bind('/etc/mesh/proxy'), bind('/etc/ssl/mine')], host).overlays).to.deep.equal(['/etc']);
  });

  it('gives the container a root of its own for a directory that the root lacks', () => {
    const plan = planMounts([bind('/data/x/y')], host);
    expect(plan.rootDirectories).to.deep.equal(['data']);
    expect(plan.binds.map(({ target }) => target)).to.deep.equal(['/data/x/y']);
  });

  it('quotes any text for the shell', () => {
    const words = ["it's", 'a b', '$(x) `y`', '', '"', 'line\nbreak'];
    const { stdout } = spawnSync('/bin/sh', ['-c', `printf '%s\\0' ${words.map(quote).join(' ')}`], { encoding: 'utf8' });
    expect(stdout.split('\0').slice(0, -1)).to.deep.equal(words);
  });
});

describe('lab privileges', () => {
  const user = (context: unknown) => container({ securityContext: context }).user;

  it('gives the init container what it asks for and no more', () => {
    const args = setprivArguments(
      user({ runAsUser: 0, capabilities: { drop: ['ALL'], add: ['NET_ADMIN', 'CAP_NET_RAW'] } }),
      false,
    );
    expect(args.join(' ')).to.equal('--reuid 0 --regid 0 --clear-groups --bounding-set -all,+net_admin,+net_raw --inh-caps -all');
  });

  it('hands added capabilities on to a user that is not root', () => {
    const args = setprivArguments(user({ runAsUser: 7, capabilities: { drop: ['ALL'], add: ['NET_RAW'] } }), false);
    expect(args.join(' ')).to.include('--reuid 7 --regid 7').and.include('--ambient-caps -all,+net_raw');
  });

  it("puts every process into the pod's group of files", () => {
    const spec = {
      securityContext: { fsGroup: 7 },
      containers: [{ name: 'web', image: 'x', securityContext: { runAsUser: 5 } }],
    };
    const parsed = parsePodSpec({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
    const web = parsed.ok ? parsed.value.containers[0] : undefined;
    expect(parsed.ok && parsed.value.fsGroup).to.equal(7);
    expect(web && setprivArguments(web.user, false).join(' ')).to.include('--reuid 5 --regid 5 --groups 7 ');
  });

  it('leaves users alone where only user 0 exists', () => {
    expect(setprivArguments(user({ runAsUser: 1337 }), true)).not.to.include('--reuid');
  });
});

describe('lab pod spec', () => {
  it('reports every problem with its path', () => {
    const spec = {
      hostNetwork: true,
      restartPolicy: 'Maybe',
      containers: [{ name: 'a', volumeMounts: [{ name: 'v', mountPath: 'x' }], livenessProbe: { httpGet: { path: '/' } } }],
      volumes: [{ name: 'w', nfs: {} }],
    };
    const parsed = parsePodSpec({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
    const paths = parsed.ok ? [] : parsed.problems.map(({ path }) => path);
    expect(paths).to.have.members([
      'spec.containers[0].volumeMounts[0].mountPath',
      'spec.containers[0].livenessProbe.httpGet.port',
      'spec.volumes[0]',
      'spec.restartPolicy',
      'spec.hostNetwork',
      'spec.volumes',
    ]);
  });
});
