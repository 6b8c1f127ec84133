import { spawn } from 'node:child_process';
import { MeshError } from '../lib/errors.ts';
import type { Family } from './rules.ts';

/** One iptables of a family, that works here. */
export interface Iptables {
  /** `iptables-save -t nat`. */
  save(): Promise<string>;
  /** Applies the text as one transaction, leaving other rules alone. */
  restore(rules: string): Promise<void>;
}

/** Runs a program to its end; rejects with a MeshError `not_found` when there is no such program. */
export type RunProgram = (program: string, args: readonly string[], stdin: string) => Promise<ProgramResult>;
export interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The default iptables first; the others where the kernel lacks what the default one needs. */
const PROGRAMS: Readonly<Record<Family, readonly string[]>> = {
  ipv4: ['iptables', 'iptables-legacy', 'iptables-nft'],
  ipv6: ['ip6tables', 'ip6tables-legacy', 'ip6tables-nft'],
};

/**
 * Finds the iptables that can read the nat table.
 * @throws MeshError `not_found` when none is installed, `permission_denied` or `failed_precondition` when none works.
 */
export async function openIptables(family: Family, run: RunProgram): Promise<Iptables> {
  const failures: string[] = [];
  for (const program of PROGRAMS[family]) {
    const result = await run(`${program}-save`, ['-t', 'nat'], '').catch(absent);
    if (result === undefined) continue;
    if (result.code === 0) return iptables(program, run);
    failures.push(`${program}-save: ${oneLine(result.stderr)}`);
  }
  const [first] = failures;
  if (first === undefined) {
    const program = PROGRAMS[family][0];
    throw new MeshError('not_found', `${program}-restore is not installed; install the package iptables`);
  }
  throw failure(first);
}

function iptables(program: string, run: RunProgram): Iptables {
  const checked = async (name: string, args: readonly string[], stdin: string): Promise<string> => {
    const result = await run(name, args, stdin);
    if (result.code !== 0) throw failure(`${name}: ${oneLine(result.stderr)}`, stdin);
    return result.stdout;
  };
  return {
    save: () => checked(`${program}-save`, ['-t', 'nat'], ''),
    restore: async (rules) => {
      await checked(`${program}-restore`, ['--noflush', '--wait', '5'], rules);
    },
  };
}

function failure(text: string, rules = ''): MeshError {
  if (/permission denied|must be root|operation not permitted/i.test(text)) {
    return new MeshError(
      'permission_denied',
      `changing the redirection is not permitted (${text}); run with the capability NET_ADMIN`,
    );
  }
  const owner = /--[ug]id-owner/.test(lineNamedBy(text, rules));
  const hint = owner ? '; the proxy user does not exist in this user namespace, exempt the proxy with --proxy-mark instead' : '';
  return new MeshError('failed_precondition', `${text}${hint}`);
}

/** The rule that iptables-restore complains about, by its 1-based line number. */
function lineNamedBy(text: string, rules: string): string {
  const number = /line:? (\d+)/.exec(text)?.[1];
  return number === undefined ? '' : (rules.split('\n')[Number(number) - 1] ?? '');
}

const oneLine = (text: string): string =>
  text
    .trim()
    .split(/\s*\n\s*/)
    .join(' ');

function absent(thrown: unknown): undefined {
  const error = MeshError.from(thrown);
  if (error.code !== 'not_found') throw error;
  return undefined;
}

/** Programs of the host, given 30 s. */
export const runProgram: RunProgram = (program, args, stdin) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: 30_000 });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.on('error', (error: NodeJS.ErrnoException) =>
      reject(new MeshError(error.code === 'ENOENT' ? 'not_found' : 'internal', `cannot run ${program}: ${error.message}`, error)),
    );
    child.on('close', (code) =>
      resolve({ code: code ?? 1, stdout: String(Buffer.concat(stdout)), stderr: String(Buffer.concat(stderr)) }),
    );
    // A program that ends without reading its input says why by its exit code.
    child.stdin.on('error', () => {});
    child.stdin.end(stdin);
  });
