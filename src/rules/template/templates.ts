import { apikey, authorization, checknothing, listentry, quota } from './check-templates.ts';
import { kubernetes } from './kubernetes-template.ts';
import { edge, logentry, metric, reportnothing, tracespan } from './report-templates.ts';
import type { Template, TemplateName } from './template.ts';

/** Every template, by the name that is also its kind. */
export const TEMPLATES: { readonly [Name in TemplateName]: Template<Name> } = {
  apikey,
  authorization,
  checknothing,
  edge,
  kubernetes,
  listentry,
  logentry,
  metric,
  quota,
  reportnothing,
  tracespan,
};

/** Those whose instances say something of a request; the others make attributes of what a store knows. */
export const REQUEST_TEMPLATES: readonly TemplateName[] = Object.values(TEMPLATES)
  .filter(({ variety }) => variety !== 'attributes')
  .map(({ name }) => name);

export const isTemplateName = (name: string): name is TemplateName => Object.hasOwn(TEMPLATES, name);
