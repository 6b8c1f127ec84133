import { MeshError, type Parsed, type Problem } from '../lib/errors.ts';
import { type LabelSelector, parseSelector } from './selector.ts';
import { checkSetting, DEFAULT_SETTINGS, isSettingName, SETTING_NAMES, type SettingName, type Settings } from './settings.ts';
import { isRecord, type JsonObject } from './shape.ts';
import { parseYaml } from './yaml.ts';

/** The injection configuration (`--injectConfig`, or key `config` of the ConfigMap `mesh-sidecar-injector`), checked. */
export interface InjectionConfig {
  /** What happens to pods that neither an annotation nor a selector decides for. */
  readonly policy: 'enabled' | 'disabled';
  readonly neverInjectSelector: readonly LabelSelector[];
  readonly alwaysInjectSelector: readonly LabelSelector[];
  /** Names of secrets that injected pods pull images with. */
  readonly imagePullSecrets: readonly string[];
  /** Settings of pods whose annotations do not say otherwise; one left out of the document has its built-in default. */
  readonly values: Settings;
  /** A YAML document with Liquid tags; see template.ts. */
  readonly template: string;
}

const FIELDS = ['policy', 'neverInjectSelector', 'alwaysInjectSelector', 'imagePullSecrets', 'values', 'template'];

/** Reads an injection configuration from YAML or JSON; every problem has its path in the document. */
export function parseInjectionConfig(text: string): Parsed<InjectionConfig> {
  const document = readDocument(text);
  if (!document.ok) return document;
  const problems: Problem[] = [];
  const fields = document.value;
  for (const field of Object.keys(fields)) {
    if (!FIELDS.includes(field)) problems.push({ path: field, message: `unknown field; the fields are ${FIELDS.join(', ')}` });
  }
  const config: InjectionConfig = {
    policy: readPolicy(fields['policy'], problems),
    neverInjectSelector: readSelectors(fields['neverInjectSelector'], 'neverInjectSelector', problems),
    alwaysInjectSelector: readSelectors(fields['alwaysInjectSelector'], 'alwaysInjectSelector', problems),
    imagePullSecrets: readNames(fields['imagePullSecrets'], 'imagePullSecrets', problems),
    values: readValues(fields['values'], problems),
    template: readTemplate(fields['template'], problems),
  };
  return problems.length === 0 ? { ok: true, value: config } : { ok: false, problems };
}

function readDocument(text: string): Parsed<JsonObject> {
  const wrong = (message: string): Parsed<JsonObject> => ({ ok: false, problems: [{ path: '', message }] });
  try {
    const value = parseYaml(text);
    return isRecord(value) ? { ok: true, value } : wrong('must be a mapping with policy, values and template');
  } catch (error) {
    return wrong(MeshError.from(error).message);
  }
}

function readPolicy(value: unknown, problems: Problem[]): 'enabled' | 'disabled' {
  if (value !== 'enabled' && value !== 'disabled') problems.push({ path: 'policy', message: 'must be enabled or disabled' });
  return value === 'enabled' ? 'enabled' : 'disabled';
}

function readSelectors(value: unknown, path: string, problems: Problem[]): LabelSelector[] {
  const list = value ?? [];
  if (Array.isArray(list)) return list.map((item, index) => parseSelector(item, `${path}[${index}]`, problems));
  problems.push({ path, message: 'must be a list of label selectors' });
  return [];
}

function readNames(value: unknown, path: string, problems: Problem[]): string[] {
  const list = value ?? [];
  if (Array.isArray(list) && list.every((item) => typeof item === 'string' && item !== '')) return list;
  problems.push({ path, message: 'must be a list of names' });
  return [];
}

function readValues(value: unknown, problems: Problem[]): Settings {
  const given = value ?? {};
  const values: Record<SettingName, string> = { ...DEFAULT_SETTINGS };
  if (!isRecord(given)) {
    problems.push({ path: 'values', message: 'must map settings to texts' });
    return values;
  }
  for (const [name, text] of Object.entries(given)) {
    const path = `values.${name}`;
    if (!isSettingName(name)) problems.push({ path, message: `unknown setting; the settings are ${SETTING_NAMES.join(', ')}` });
    else if (typeof text !== 'string' && typeof text !== 'number') problems.push({ path, message: 'must be a text' });
    else values[name] = checkSetting(name, String(text), path, problems);
  }
  return values;
}

function readTemplate(value: unknown, problems: Problem[]): string {
  if (typeof value === 'string' && value.trim() !== '') return value;
  problems.push({ path: 'template', message: 'must be the text of the sidecar template' });
  return '';
}
