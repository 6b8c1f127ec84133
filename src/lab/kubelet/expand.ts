/**
 * Expands `$(NAME)` in a container's command, args and env values as Kubernetes does: `$$` is a dollar sign, a reference to
 * an unknown name stays as it is.
 */
export function expandReferences(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\$(?:\$|\(([^()]+)\))/g, (whole, name: string | undefined) => {
    if (name === undefined) return '$';
    return values.get(name) ?? whole;
  });
}
