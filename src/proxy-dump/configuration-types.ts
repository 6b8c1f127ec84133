/** What `pilot-agent debug` and `meshctl proxy-config` print. */
export const CONFIGURATION_TYPES = [
  'all',
  'bootstrap',
  'static',
  'clusters',
  'endpoints',
  'listeners',
  'routes',
  'secrets',
  'stats',
] as const;
export type ConfigurationType = (typeof CONFIGURATION_TYPES)[number];
