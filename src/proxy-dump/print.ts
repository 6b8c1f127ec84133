import { printYaml } from '../model/parse/yaml.ts';
import { field, items } from './json-value.ts';
import { printTable } from './table.ts';
import type { View } from './views.ts';

/** How views are printed: for people, or for programs, which get one document whatever was asked for. */
export function printViews(views: readonly View[], output: 'table' | 'json' | 'yaml'): string {
  switch (output) {
    case 'table':
      return views.length === 1
        ? views.map(({ table }) => printTable(table)).join('')
        : views.map(({ title, table }) => `${title.toUpperCase()}\n${printTable(table)}`).join('\n');
    case 'json':
      return `${JSON.stringify(joined(views), null, 2)}\n`;
    case 'yaml':
      return printYaml(joined(views));
  }
}

/** Several parts of one dump are one dump; what is no part of it stands beside it by its name. */
function joined(views: readonly View[]): unknown {
  const [first] = views;
  if (views.length === 1 && first !== undefined) return first.data;
  const configs = views.flatMap(({ data }) => items(field(data, 'configs')));
  const others = views.filter(({ data }) => field(data, 'configs') === undefined).map(({ title, data }) => [title, data]);
  return { configs, ...Object.fromEntries(others) };
}
