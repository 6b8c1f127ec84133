/** What may be asked of a value that was read from outside. */

export type Labels = Readonly<Record<string, string>>;
export type JsonObject = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isStringMap(value: unknown): value is Labels {
  return isRecord(value) && Object.values(value).every((item) => typeof item === 'string');
}

export function isRecordList(value: unknown): value is readonly JsonObject[] {
  return Array.isArray(value) && value.every(isRecord);
}
