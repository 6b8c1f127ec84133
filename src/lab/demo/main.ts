import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Invocation } from '../../flags/table.ts';
import type { Host } from '../../io/host.ts';
import { seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import { kindsFor } from '../../model/kinds.ts';
import { Lab, type Progress } from '../client.ts';
import type { demoFlags } from '../flags.ts';
import { readManifests } from '../manifests.ts';
import { meshInstallation } from '../mesh-command.ts';
import { BackgroundCalls } from './background-calls.ts';
import { CallRecord } from './call-record.ts';
import { expectedCells } from './cells.ts';
import { LabMesh, mintTokens, type PolicyTool, storedPolicies } from './lab-mesh.ts';
import { LiveOutput } from './live-output.ts';
import { COLOURED, type Paint, PLAIN } from './paint.ts';
import { demoDirectory } from './paths.ts';
import { reportOf } from './rows.ts';
import { renderHeading, renderStep, renderSummary } from './step-text.ts';
import { CLEAN_UP, NO_POLICY, REFERENCE_STEPS, type Step } from './steps.ts';
import { type ScenarioResult, type WalkListener, walk } from './walk.ts';

const READY_TIMEOUT = seconds(120);

/**
 * `lab demo`: brings up a mesh in a lab of its own and walks it through the reference scenario. Exit code 0 only if everything was
 * as specified.
 */
export async function runDemo({ options }: Invocation<typeof demoFlags>, host: Host): Promise<number> {
  const asJson = options.output === 'json';
  const output = new LiveOutput(asJson ? host.stderr : host.stdout);
  const paint = paintFor(output, host);
  const lab = new Lab(demoDirectory(options.dir, host.env, host.cwd), host);
  const wasRunning = lab.isRunning;
  try {
    await bringUp(lab, host, (line) => output.status(line));
    output.line(`the mesh is up in ${lab.paths.dir}`);
    const result = await runScenario(lab, REFERENCE_STEPS, host, printer(output, paint));
    if (asJson) host.stdout.write(`${JSON.stringify(reportOf(result), undefined, 2)}\n`);
    output.line(renderSummary(result, paint));
    return result.ok ? 0 : 1;
  } catch (error) {
    throw host.signal.aborted ? new MeshError('cancelled', 'the demo was interrupted', error) : error;
  } finally {
    await lab.close();
    // A lab that somebody named and that ran before is theirs.
    if (options.keep || (wasRunning && options.dir !== '')) output.line(hints(lab.paths.dir));
    else await lab.down(false);
  }
}

/** Brings up the workloads of the scenario and waits until all are ready. */
export async function bringUp(lab: Lab, host: Host, progress: Progress): Promise<void> {
  const { cwd, stdin, names } = host;
  await lab.up({ wait: true, timeout: READY_TIMEOUT }, progress);
  const manifests = await readManifests([referenceDirectory()], { kinds: kindsFor(names), namespace: 'default', cwd, stdin });
  await lab.apply(manifests, () => {});
  progress(`applied the ${manifests.length} objects of examples/reference`);
  await lab.waitReady(READY_TIMEOUT, progress);
}

/** Walks a lab that has the workloads through the steps, with clients that call in the background all the while. */
export async function runScenario(
  lab: Lab,
  steps: readonly Step[],
  host: Host,
  listener: WalkListener,
  policyTool: PolicyTool = storedPolicies(lab),
): Promise<ScenarioResult> {
  const tokens = await mintTokens(lab, host.signal);
  const record = new CallRecord(host.now());
  const mesh = new LabMesh({ lab, host, policies: join(referenceDirectory(), 'policies'), tokens, record, policyTool });
  await mesh.change(CLEAN_UP);
  await mesh.waitForAnswers(expectedCells(NO_POLICY));
  const background = new BackgroundCalls(lab, tokens.get('valid') ?? '', record, host.now);
  try {
    return await walk(steps, mesh, listener);
  } finally {
    await background.stop();
  }
}

function referenceDirectory(): string {
  return join(meshInstallation(fileURLToPath(import.meta.url), process.execPath).directory, 'examples/reference');
}

function printer(output: LiveOutput, paint: Paint): WalkListener {
  return {
    started: (step) => output.line(`\n${renderHeading(step, paint)}`),
    doing: (what) => output.status(paint.faint(`  ${what} ...`)),
    finished: (result) => output.line(renderStep(result, paint)),
  };
}

/** Colour on a terminal only, and not for those who said so (no-color.org). */
function paintFor({ isTerminal }: LiveOutput, { env }: Host): Paint {
  return isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb' ? COLOURED : PLAIN;
}

function hints(dir: string): string {
  return `
the mesh stays up; look around with:
  eval "$(mesh lab env --dir ${dir})"
  mesh lab status
  mesh lab exec sleep.legacy -- curl -s http://httpbin.foo:8000/headers
  mesh meshctl explain httpbin.foo 8000
  mesh lab logs httpbin.foo -c mesh-proxy
  mesh lab down`;
}
