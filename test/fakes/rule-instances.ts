import { vocabularyWith } from '../../src/rules/attribute/standard-vocabulary.ts';
import { expressionCompiler } from '../../src/rules/expression/compile.ts';
import type { CompiledInstance, TemplateName } from '../../src/rules/template/template.ts';
import { TEMPLATES } from '../../src/rules/template/templates.ts';

const compile = expressionCompiler(vocabularyWith(new Map()));

/** An instance as configuration compiles it; throws where it does not. */
export function compiledInstance(template: TemplateName, name: string, spec: object): CompiledInstance {
  const compiled = TEMPLATES[template].compile(`${name}.${template}.ns`, spec, compile);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems));
  return compiled.value;
}
