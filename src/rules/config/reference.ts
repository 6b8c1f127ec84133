/** `name.kind.namespace` of an object of configuration, by which everything names it. */
export function idOf(name: string, kind: string, namespace: string): string {
  return `${name}.${kind}.${namespace}`;
}

/**
 * What `name`, `name.kind` or `name.kind.namespace` means in an object of a namespace. Names may have dots themselves, so kinds decide;
 * a bare name is one of the `general` kind (`handler`, `instance`).
 */
export function resolveReference(
  text: string,
  options: { readonly namespace: string; readonly general: string; isKind(kind: string): boolean },
): string {
  const words = text.split('.');
  const [beforeLast, last] = [words.at(-2) ?? '', words.at(-1) ?? ''];
  if (words.length > 2 && options.isKind(beforeLast)) return text;
  if (words.length > 1 && options.isKind(last)) return `${text}.${options.namespace}`;
  return idOf(text, options.general, options.namespace);
}
