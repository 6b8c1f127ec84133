import type { HttpHandler, HttpResponse } from '../io/http/types.ts';
import { scopesPage } from '../io/log/scopes-page.ts';
import type { Logging } from '../io/log/winston.ts';
import { profilePages } from '../io/profile/pages.ts';
import type { Profiler } from '../io/profile/profiler.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import { buildInfo, longVersion } from '../lib/version.ts';
import { describeObject } from '../model/object.ts';
import type { OpenedStore } from '../sources/store/open.ts';
import type { HandlerConditions } from './adapter/handler-conditions.ts';
import type { ScrapedRegistries } from './adapter/scraped-registries.ts';
import type { FollowedRules } from './follow-rules.ts';

export interface MonitoringOptions {
  readonly scraped: ScrapedRegistries;
  readonly conditions: HandlerConditions;
  readonly rules: FollowedRules;
  readonly store: OpenedStore;
  readonly logging: Logging;
  readonly profiler: Profiler | undefined;
}

/** The pages of the monitoring port. */
export function monitoringHandler({ scraped, conditions, rules, store, logging, profiler }: MonitoringOptions): HttpHandler {
  return async (request) => {
    switch (request.path) {
      case '/metrics':
        return { status: 200, headers: { 'content-type': scraped.contentType }, body: await scraped.text() };
      case '/version':
        return { status: 200, body: `${longVersion(buildInfo, process.version)}\n` };
      case '/debug/config':
        return json(configurationPage(rules, store, conditions));
      default: {
        const page = scopesPage(logging.scopes, request) ?? profilePages(profiler, request);
        if (page !== undefined) return page;
        throw new MeshError(
          'not_found',
          `there is no page ${request.path}; there are /metrics, /version, /debug/config, /scopez and, with --profile, /debug/pprof/`,
        );
      }
    }
  };
}

/** What is in force, and what is wrong with what is not. */
function configurationPage(rules: FollowedRules, store: OpenedStore, conditions: HandlerConditions): unknown {
  const { configuration } = rules.current();
  return {
    rules: [...configuration.rules.values()].map(({ id, match, actions }) => ({
      rule: id,
      match: match?.text ?? '',
      actions: actions.map(({ handler, instances }) => ({ handler: handler.id, instances: instances.map(({ name }) => name) })),
    })),
    handlers: [...configuration.handlers.values()].map(({ id, adapter }) => ({
      handler: id,
      adapter,
      condition: conditions.of(id),
    })),
    instances: [...configuration.instances.values()].map(({ name, template }) => ({ instance: name, template })),
    roles: [...configuration.serviceRoles.keys()],
    roleBindings: [...configuration.serviceRoleBindings].map(([binding, { role }]) => ({ binding, role })),
    problems: [
      ...store.problems().map((problem) => ({ problem: formatProblem(problem), inForce: 'last good' })),
      ...configuration.problems.map(({ object, inForce, ...problem }) => ({
        object: describeObject(object),
        file: store.placeOf?.(object),
        problem: formatProblem(problem),
        inForce,
      })),
    ],
  };
}

function json(value: unknown): HttpResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: `${JSON.stringify(value, undefined, 2)}\n` };
}
