import type { KubeObject } from '../../model/object.ts';
import type { CompileExpression } from '../expression/types.ts';
import type { CompiledInstance } from '../template/template.ts';
import { isTemplateName, TEMPLATES } from '../template/templates.ts';
import { type Attempt, below, idOfObject, recordOf } from './attempt.ts';

/** An object of a kind that is a template; `undefined` for any other. */
export function namedInstance(object: KubeObject, compile: CompileExpression): Attempt<CompiledInstance> | undefined {
  if (!isTemplateName(object.kind)) return undefined;
  return compileInstance(object.kind, object, object['spec'] ?? {}, 'spec', compile);
}

/** The kind `instance` names its template. */
export function generalInstance(object: KubeObject, compile: CompileExpression): Attempt<CompiledInstance> {
  const spec = recordOf(object['spec']);
  const template = spec['compiledTemplate'];
  if (typeof template === 'string' && isTemplateName(template))
    return compileInstance(template, object, spec['params'] ?? {}, 'spec.params', compile);
  return { problems: [{ path: 'spec.compiledTemplate', message: `must be one of ${Object.keys(TEMPLATES).join(', ')}` }] };
}

function compileInstance(
  template: keyof typeof TEMPLATES,
  object: KubeObject,
  spec: unknown,
  path: string,
  compile: CompileExpression,
): Attempt<CompiledInstance> {
  const compiled = TEMPLATES[template].compile(idOfObject(object), spec, compile);
  return compiled.ok ? { value: compiled.value } : { problems: below(path, compiled.problems) };
}
