import { loggingFlags } from '../flags/logging.ts';
import { probeFlags } from '../flags/probe.ts';
import { flagTable } from '../flags/table.ts';
import { versionFlags } from '../flags/version.ts';
import { milliseconds } from '../lib/duration.ts';
import { DEFAULT_DOMAIN, namesFor } from '../lib/names.ts';

/** The flags of `sidecar-injector` itself, which starts the webhook. */
export const injectorFlags = flagTable({
  ...loggingFlags,
  caCertFile: {
    type: 'string',
    default: '/etc/mesh/certs/root-cert.pem',
    summary: 'x509 certificate that the API server is told to check the webhook against',
  },
  healthCheckFile: {
    type: 'string',
    default: '',
    summary: 'file periodically updated when health checking is enabled',
  },
  healthCheckInterval: {
    type: 'duration',
    default: milliseconds(0),
    summary: 'how often the health check file is updated',
  },
  injectConfig: {
    type: 'string',
    default: '/etc/mesh/inject/config',
    summary: 'injection configuration and template file',
  },
  orchconfig: {
    type: 'string',
    aliases: ['kubeconfig'],
    default: '',
    summary: 'path to the orchestrator client configuration; required when not running inside the orchestrator',
  },
  meshConfig: { type: 'string', default: '/etc/mesh/config/mesh', summary: 'mesh configuration file' },
  port: { type: 'int', default: 443, min: 0, max: 65535, summary: 'webhook port' },
  tlsCertFile: { type: 'string', default: '/etc/mesh/certs/cert-chain.pem', summary: 'x509 certificate file for HTTPS' },
  tlsKeyFile: {
    type: 'string',
    default: '/etc/mesh/certs/key.pem',
    summary: 'x509 private key matching --tlsCertFile',
  },
  webhookConfigName: {
    type: 'string',
    default: 'mesh-sidecar-injector',
    summary: 'name of the mutating webhook configuration resource',
  },
  webhookName: {
    type: 'string',
    default: namesFor(DEFAULT_DOMAIN).webhookName,
    summary: 'name of the webhook entry in that configuration',
  },
});

export type InjectorFlags = typeof injectorFlags;

/** The flags of `sidecar-injector probe`: the server's, and those of every probe. */
export const injectorProbeFlags = flagTable({ ...injectorFlags, ...probeFlags });

export type InjectorProbeFlags = typeof injectorProbeFlags;

/** The flags of `sidecar-injector version`: the server's, and those of every version. */
export const injectorVersionFlags = flagTable({ ...injectorFlags, ...versionFlags });
