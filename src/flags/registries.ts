/** The kind of the orchestrator's own service registry. */
export const ORCHESTRATOR_KIND = 'Kubernetes';

/** Every kind of service registry that a flag may name. */
export const REGISTRY_KINDS = [ORCHESTRATOR_KIND, 'Consul', 'Eureka', 'CloudFoundry', 'Mock'] as const;

const notYet = (kind: string) => `the ${kind} registry is not supported by this build yet`;

/** Kinds that are named by the flags but have no registry behind them in this build. */
export const REFUSED_REGISTRY_KINDS = {
  Consul: notYet('Consul'),
  Eureka: notYet('Eureka'),
  CloudFoundry: notYet('CloudFoundry'),
  Mock: notYet('Mock'),
} as const;
