import { dispatch } from './dispatch.ts';

/** The help text as someone should see it who called the program by the name in argv. */
export function spokenAs(argv: readonly string[], text: string): string {
  const target = dispatch(argv);
  if (target.kind !== 'component') return text;
  return text.replaceAll(`mesh ${target.component}`, target.program);
}
