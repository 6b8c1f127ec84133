import type { AttributeMap } from './attribute-map.ts';

/** Adds what the id of a proxy's node, `sidecar~<ip>~<pod>.<namespace>~<domain>`, says of the end that it is at; nothing for any other id. */
export function addNode(attributes: AttributeMap, end: 'source' | 'destination', nodeId: string): void {
  const [, , name = ''] = nodeId.split('~');
  const dot = name.lastIndexOf('.');
  if (dot < 1) return;
  const uid = `kubernetes://${name}`;
  attributes.text(`${end}.name`, name.slice(0, dot));
  attributes.text(`${end}.namespace`, name.slice(dot + 1));
  attributes.text(`${end}.uid`, uid);
  attributes.text('context.reporter.uid', uid);
}
