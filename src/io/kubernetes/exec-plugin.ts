/** Runs a credential plugin (client.authentication.k8s.io): a program that prints an ExecCredential as JSON. */
import { execFile } from 'node:child_process';
import { type Duration, formatDuration, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import { Redacted } from '../../lib/redacted.ts';
import type { ExecPlugin } from './access.ts';

export interface ExecCredential {
  readonly token?: Redacted;
  readonly certificate?: { readonly chain: Redacted; readonly key: Redacted };
  /** Milliseconds since 1970; absent: until the server refuses it. */
  readonly expiresAt?: number;
}

/** A plugin may ask a server of its own, or a person in a browser. */
const LIMIT: Duration = seconds(60);
const MAX_BYTES = 1024 * 1024;
const MAX_WORDS = 300;

/** Rejects with `unauthenticated` when the program fails, prints something else, or takes longer than `limit`: it is killed then. */
export async function runExecPlugin(
  plugin: ExecPlugin,
  env: Readonly<Record<string, string | undefined>>,
  limit: Duration = LIMIT,
): Promise<ExecCredential> {
  const { apiVersion, cluster } = plugin;
  const spec = { interactive: false, ...(cluster === undefined ? {} : { cluster }) };
  const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec });
  const output = await run(plugin, { ...env, ...plugin.env, KUBERNETES_EXEC_INFO: info }, limit);
  return parseCredential(output, plugin);
}

function run(plugin: ExecPlugin, env: Readonly<Record<string, string | undefined>>, limit: Duration): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...env }, timeout: Math.ceil(limit), maxBuffer: MAX_BYTES, killSignal: 'SIGKILL' } as const;
    const child = execFile(plugin.command, [...plugin.args], options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const reason = error.killed ? `no answer in ${formatDuration(limit)}` : stderr.trim().slice(-MAX_WORDS) || error.message;
      const hint = error.code === 'ENOENT' && plugin.installHint !== undefined ? `; ${plugin.installHint}` : '';
      reject(failure(plugin, `failed: ${reason}${hint}`, error));
    });
    child.stdin?.end();
  });
}

function parseCredential(output: string, plugin: ExecPlugin): ExecCredential {
  const { apiVersion, status } = parseJson(output, plugin);
  if (apiVersion !== plugin.apiVersion)
    throw failure(plugin, `printed apiVersion ${String(apiVersion)}, not ${plugin.apiVersion}`);
  const fields = asFields(status);
  const text = (name: string): string | undefined => {
    const value = fields[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const token = text('token');
  const chain = text('clientCertificateData');
  const key = text('clientKeyData');
  if ((chain === undefined) !== (key === undefined))
    throw failure(plugin, 'printed a certificate without its key, or a key alone');
  if (token === undefined && chain === undefined) throw failure(plugin, 'printed neither a token nor a certificate');
  const expiry = text('expirationTimestamp');
  if (expiry !== undefined && Number.isNaN(Date.parse(expiry)))
    throw failure(plugin, 'printed an expirationTimestamp that is no date');
  return {
    ...(token === undefined ? {} : { token: new Redacted(token) }),
    ...(chain === undefined || key === undefined ? {} : { certificate: { chain: new Redacted(chain), key: new Redacted(key) } }),
    ...(expiry === undefined ? {} : { expiresAt: Date.parse(expiry) }),
  };
}

/** The output may hold a secret even where it is no JSON, so that no message quotes it. */
function parseJson(output: string, plugin: ExecPlugin): Readonly<Record<string, unknown>> {
  try {
    return asFields(JSON.parse(output));
  } catch {
    throw failure(plugin, 'printed something that is not JSON');
  }
}

function asFields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function failure(plugin: ExecPlugin, what: string, cause?: unknown): MeshError {
  return new MeshError('unauthenticated', `the credential plugin ${plugin.command} ${what}`, cause);
}
