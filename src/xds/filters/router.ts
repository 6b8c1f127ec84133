import { Router } from '#gen/envoy/extensions/filters/http/router/v3/router.ts';
import { HttpFilter } from '#gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.ts';
import { pack } from '../resource.ts';

export const ROUTER: HttpFilter = HttpFilter.fromPartial({
  name: 'envoy.filters.http.router',
  configType: {
    $case: 'typedConfig',
    typedConfig: pack('envoy.extensions.filters.http.router.v3.Router', Router, Router.create()),
  },
});
