import { defineTemplate } from './define.ts';
import { dimensions, optional, required, requiredOfAnyType, withDefault } from './fields.ts';

const monitoredResource = { monitoredResourceType: optional('STRING'), monitoredResourceDimensions: dimensions() };

export const logentry = defineTemplate({
  name: 'logentry',
  variety: 'report',
  description: 'One line of a log',
  fields: {
    variables: dimensions(),
    timestamp: required('TIMESTAMP'),
    severity: withDefault('STRING', 'default'),
    ...monitoredResource,
  },
  build: (name, values) => ({ name, ...values }),
});

export const metric = defineTemplate({
  name: 'metric',
  variety: 'report',
  description: 'One observation of a metric',
  fields: { value: requiredOfAnyType(), dimensions: dimensions(), ...monitoredResource },
  build: (name, values) => ({ name, ...values }),
});

export const reportnothing = defineTemplate({
  name: 'reportnothing',
  variety: 'report',
  description: 'Nothing but that something happened, for handlers that only count',
  fields: {},
  build: (name) => ({ name }),
});

export const tracespan = defineTemplate({
  name: 'tracespan',
  variety: 'report',
  description: 'One span of a trace',
  fields: {
    traceId: required('STRING'),
    spanId: optional('STRING'),
    parentSpanId: optional('STRING'),
    spanName: required('STRING'),
    startTime: required('TIMESTAMP'),
    endTime: required('TIMESTAMP'),
    spanTags: dimensions(),
    httpStatusCode: optional('INT64'),
    clientSpan: optional('BOOL'),
    rewriteClientSpanId: optional('BOOL'),
    sourceName: optional('STRING'),
    sourceIp: optional('IP_ADDRESS'),
    destinationName: optional('STRING'),
    destinationIp: optional('IP_ADDRESS'),
    requestSize: optional('INT64'),
    requestTotalSize: optional('INT64'),
    responseSize: optional('INT64'),
    responseTotalSize: optional('INT64'),
    apiProtocol: optional('STRING'),
  },
  build: (name, values) => ({ name, ...values }),
});

export const edge = defineTemplate({
  name: 'edge',
  variety: 'report',
  description: 'Which workload called which, for pictures of the mesh',
  fields: {
    timestamp: required('TIMESTAMP'),
    sourceWorkloadNamespace: optional('STRING'),
    sourceWorkloadName: optional('STRING'),
    sourceOwner: optional('STRING'),
    sourceUid: optional('STRING'),
    destinationWorkloadNamespace: optional('STRING'),
    destinationWorkloadName: optional('STRING'),
    destinationOwner: optional('STRING'),
    destinationUid: optional('STRING'),
    destinationServiceNamespace: optional('STRING'),
    destinationServiceName: optional('STRING'),
    contextProtocol: optional('STRING'),
    apiProtocol: optional('STRING'),
  },
  build: (name, values) => ({ name, ...values }),
});
