import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { expect } from 'chai';
import fc from 'fast-check';
import inject from '../../../src/commands/meshctl/inject.ts';
import { injectPod } from '../../../src/injection/inject.ts';
import type { Host } from '../../../src/io/host.ts';
import { DEFAULT_DOMAIN, namesFor } from '../../../src/lib/names.ts';
import { injectText } from '../../../src/meshctl/inject/inject-text.ts';
import { printYaml, readYaml } from '../../../src/model/parse/yaml.ts';
import { fakeInjection, requireInjected } from '../../fakes/injection.ts';
import { PODS } from '../../fakes/pods.ts';

const GOLDEN = 'test/golden/inject/every-kind';
const CONTEXT = fakeInjection();
const OPTIONS = { context: CONTEXT, defaultNamespace: 'default', force: false };
const POD = 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: web\n';

/** Lines that stay in their places: what is asked by a probe may go. */
const COMMENTED =
  /^ *(?=(?:- )?(?:\w*(?:[mM]etadata|[sS]pec|template|labels|annotations|[cC]ontainers|image|ports|env|lifecycle|Probe|volumes|Context|items|kind)|name: (?:app|init|native|mine)))/gm;

const meaningOf = (text: string): unknown => {
  const read = readYaml(text);
  return read.ok ? read.value.values[0] : read.problem;
};
const injectOne = (text: string, options = OPTIONS) => injectText([{ name: 'in.yaml', text }], options);

/** Runs `meshctl inject` with a terminal of its own; failures give what the command shell would print. */
async function run(argv: readonly string[], { stdin = '', cwd = process.cwd() } = {}) {
  const output = { stdout: '', stderr: '' };
  const writer = (name: keyof typeof output) =>
    new Writable({
      write(chunk, _encoding, done) {
        output[name] += String(chunk);
        done();
      },
    });
  const host: Host = {
    env: {},
    stdin: Readable.from([stdin]),
    stdout: writer('stdout'),
    stderr: writer('stderr'),
    cwd,
    signal: new AbortController().signal,
    names: namesFor(DEFAULT_DOMAIN),
    now: () => new Date(0),
  };
  const outcome = await inject.execute(argv, 'meshctl', host);
  return { ...output, outcome };
}

describe('meshctl inject', () => {
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'mesh-inject-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('prints every kind as the golden file shows', () => {
    const result = injectOne(readFileSync(`${GOLDEN}.in.yaml`, 'utf8'));
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(`${GOLDEN}.out.yaml`, result.text);
    expect(result.problems).to.deep.equal([]);
    expect(result.text).to.equal(
      readFileSync(`${GOLDEN}.out.yaml`, 'utf8'),
      'run npm run golden:update and look at the difference',
    );
    expect(result.notes).to.deep.equal([
      'Deployment shop/web: injected, the injection policy is enabled',
      'CronJob shop/report: not injected, annotation sidecar.mesh.io/inject is "no"',
      'Pod plain/not-in-the-mesh: not injected, namespace plain lacks the label mesh-injection=enabled',
      'Pod shop/one: injected, the injection policy is enabled',
    ]);
  });

  it('leaves what it has injected already as it is', () => {
    const once = injectOne(readFileSync(`${GOLDEN}.in.yaml`, 'utf8')).text;
    expect(injectOne(once).text).to.equal(once);
  });

  it('keeps every comment of a workload, and means what injection into its value gives, whatever the workload', () => {
    fc.assert(
      fc.property(PODS, fc.infiniteStream(fc.boolean()), fc.boolean(), (template, commented, inList) => {
        const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { template } };
        const manifest = inList ? { apiVersion: 'v1', kind: 'List', items: [{ kind: 'Other' }, object] } : object;
        let count = 0;
        const text = printYaml(manifest).replaceAll(COMMENTED, (indent) =>
          commented.next().value ? `${indent}# comment ${count++}\n${indent}` : indent,
        );
        const result = injectOne(text);
        expect(result.problems).to.deep.equal([]);
        const pod = requireInjected(injectPod(template, { name: 'default', chosen: { by: 'caller' } }, CONTEXT)).pod;
        const injected = { ...object, spec: { template: pod } };
        const expected = inList ? { ...manifest, items: [{ kind: 'Other' }, injected] } : injected;
        expect(meaningOf(result.text)).to.deep.equal(JSON.parse(JSON.stringify(expected)));
        const comments = (of: string): string[] => [...of.matchAll(/# comment \d+/g)].map(([comment]) => comment);
        expect(comments(result.text)).to.have.members(comments(text));
        expect(injectOne(result.text).text, 'again').to.equal(result.text);
      }),
      { numRuns: 30 },
    );
  });

  for (const [what, text] of [
    [
      'anchors and merge keys',
      POD.replace('  name: web\n', '  name: &n web\n').replace('- name: web', '- <<: {image: a}\n    name: *n'),
    ],
    ['flow style', '{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web}]}} # end\n'],
    ['flow style below', 'apiVersion: v1\nkind: Pod # a\nmetadata: {name: web}\nspec: {containers: [{name: web}]} # end\n'],
    ['Windows line ends', POD.replaceAll('\n', '\r\n')],
    ['an end marker and a comment after it', `%YAML 1.2\n---\n${POD}...\n# end\n`],
    ['no line end', POD.trimEnd()],
    ['deep indentation and dashes on lines of their own', POD.replace('  - name: web', '      -\n          name: web # w')],
    ['quoted keys and texts over lines', POD.replace('  name: web\n', '  "name": "we\\\n    b"\n').replace('- name', "- 'name'")],
    ['block texts', POD.replace('metadata:', 'metadata:\n  annotations:\n    note: |\n      # text\n\n      more\n\n')],
    ['empty fields', `${POD}  volumes:\n  initContainers: # none\n`],
  ] as const) {
    it(`means what injection into its value gives, written with ${what}`, () => {
      const { text: printed, problems } = injectOne(text);
      expect(problems).to.deep.equal([]);
      const { pod } = requireInjected(injectPod(meaningOf(text), { name: 'default', chosen: { by: 'caller' } }, CONTEXT));
      expect(meaningOf(printed)).to.deep.equal(JSON.parse(JSON.stringify(pod)));
      expect(injectOne(printed).text, 'again').to.equal(printed);
    });
  }

  it('changes no line but those of what it adds', () => {
    const text = `${POD.replace('kind: Pod', 'kind:   Pod   # a pod')}    image: "web:1"   # pinned\n    env: [{name: A, value: 'b'}]\n  # end\n`;
    const lines = new Set(injectOne(text).text.split('\n'));
    for (const line of text.split('\n')) expect(lines).to.include(line);
  });

  it('keeps text without workloads byte for byte', () => {
    const piece = fc.constantFrom(
      ...[
        '# comment\n',
        '\n',
        '---\n',
        '--- # x\n',
        'kind:   Service\n',
        'a: |\n  b\n',
        '...\n',
        '   \n',
        '{"kind": "ConfigMap"}\n',
        'x: 0644',
        '\r\n',
      ],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        const result = injectOne(text);
        fc.pre(result.problems.length === 0 && text.trim() !== '');
        expect(result.text).to.equal(text);
      }),
    );
  });

  it('reads standard input, and files and directories in order, into one stream', async () => {
    writeFileSync(join(directory, 'b.yaml'), 'kind: B');
    writeFileSync(join(directory, 'a.json'), '{"kind": "A"}');
    writeFileSync(join(directory, 'ignored.txt'), '}');
    const { stdout, outcome } = await run(['-f', '.', '-f', '-'], { cwd: directory, stdin: '---\nkind: C\n' });
    expect(outcome).to.deep.equal({ kind: 'exit', code: 0 });
    expect(stdout).to.equal('{"kind": "A"}\n---\nkind: B\n---\nkind: C\n');
  });

  it('takes ranges and ports from flags, below the annotations of a pod', async () => {
    const annotated = POD.replace(
      'name: web\n',
      'name: web\n  annotations: {traffic.sidecar.mesh.io/excludeInboundPorts: "7"}\n',
    );
    const flags = ['--includeIPRanges=10.0.0.0/8,fd00::/8', '--excludeIPRanges', '10.1.0.0/16', '--includeInboundPorts', '80'];
    const { stdout } = await run(['-f', '-', ...flags, '--excludeInboundPorts', '9000', '--excludeOutboundPorts', '25'], {
      stdin: annotated,
    });
    const args = stdout.slice(stdout.indexOf('name: mesh-init'), stdout.indexOf('volumes:'));
    for (const text of ['- 10.0.0.0/8,fd00::/8\n', '- 10.1.0.0/16\n', "- '80'\n", '- 15020,15090,7\n', "- '25'\n"])
      expect(args).to.contain(text);
    expect(args).to.not.contain('9000');
  });

  it('makes the sidecar a native one when it is told that the cluster has them', async () => {
    const listOf = async (...argv: readonly string[]): Promise<string | undefined> => {
      const { stdout } = await run(['-f', '-', ...argv], { stdin: POD });
      return /^ {2}(\w+):(?:\n {2}[- ].*)*\n {2}- name: mesh-proxy$/m.exec(stdout)?.[1];
    };
    expect(await listOf('--nativeSidecar', 'true')).to.equal('initContainers');
    expect(await listOf('--nativeSidecar', 'false')).to.equal('containers');
    expect(await listOf()).to.equal('containers');
  });

  it('respects an annotation that says no, unless forced', async () => {
    const refusing = POD.replace('name: web\n', 'name: web\n  annotations: {sidecar.mesh.io/inject: "false"}\n');
    expect(await run(['-f', '-', '-n', 'shop'], { stdin: refusing })).to.include({
      stdout: refusing,
      stderr: 'Pod shop/web: not injected, annotation sidecar.mesh.io/inject is "false"\n',
    });
    expect((await run(['-f', '-', '--force'], { stdin: refusing })).stdout).to.contain('mesh-proxy');
  });

  it('uses the configurations it is given', async () => {
    writeFileSync(
      join(directory, 'inject.yaml'),
      'policy: enabled\ntemplate: |\n  labels:\n    port: "{{ mesh.proxyListenPort }}"\n',
    );
    const { stdout } = await run(['-f', '-', '--injectConfig', 'inject.yaml'], { cwd: directory, stdin: POD });
    expect(stdout).to.contain("port: '15001'").and.to.not.contain('mesh-init');
  });

  for (const [title, argv, stdin, code, message] of [
    ['no manifests', [], '', 2, '-f'],
    ['a missing file', ['-f', 'nowhere.yaml'], '', 1, 'cannot read nowhere.yaml: there is no such file'],
    ['an address', ['-f', 'https://example.com/a.yaml'], '', 2, 'curl -fsSL https://example.com/a.yaml | meshctl inject -f -'],
    ['a bad range', ['-f', '-', '--includeIPRanges', '10.0.0.0/40'], POD, 2, '--includeIPRanges is "10.0.0.0/40"'],
    ['a missing configuration', ['-f', '-', '--injectConfig', 'nowhere'], POD, 1, 'cannot read nowhere'],
    ['half a document', ['-f', '-'], `${POD}---\na: [\n`, 1, '(standard input):9'],
    [
      'a workload without a template',
      ['-f', '-'],
      '---\n\napiVersion: apps/v1\nkind: Deployment\n',
      1,
      '(standard input):3: Deployment default/',
    ],
    [
      'a bad annotation',
      ['-f', '-'],
      POD.replace('name: web\n', 'name: web\n  annotations: {sidecar.mesh.io/logLevel: loud}\n'),
      1,
      'is "loud"',
    ],
  ] as const) {
    it(`refuses ${title} and prints no manifest`, async () => {
      const { stdout, stderr, outcome } = await run(argv, { stdin, cwd: directory });
      expect(stdout).to.equal('');
      expect(outcome).to.deep.equal({ kind: 'exit', code });
      expect(stderr).to.contain(message);
    });
  }

  it('tells all problems of all documents', () => {
    const bad = POD.replace('containers:', 'container:');
    const result = injectOne(`${bad}---\n${bad}---\na: [\n`);
    expect(result.problems).to.have.length(3);
  });
});
