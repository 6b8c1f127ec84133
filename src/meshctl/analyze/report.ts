/** What `meshctl analyze` prints. */
import { printYaml } from '../../model/parse/yaml.ts';
import { printTable } from '../../proxy-dump/table.ts';
import { CATALOGUE } from './catalogue.ts';
import { actionOf, describeSubject, type Finding, type Place, severityOf } from './finding.ts';

/** A finding, and where in the files its object stands. */
export interface PlacedFinding {
  readonly finding: Finding;
  readonly place: Place | undefined;
}

export function printFindings(findings: readonly PlacedFinding[], output: 'table' | 'yaml' | 'json'): string {
  switch (output) {
    case 'table':
      return printForPeople(findings);
    case 'json':
      return `${JSON.stringify({ findings: findings.map(asData) }, null, 2)}\n`;
    case 'yaml':
      return printYaml({ findings: findings.map(asData) });
  }
}

/** One row a finding, and below each table what to do, once a code. */
function printForPeople(findings: readonly PlacedFinding[]): string {
  if (findings.length === 0) return 'No problems found.\n';
  const rows = findings.map(({ finding, place }) => [
    severityOf(finding).toUpperCase(),
    finding.code,
    clean(
      place === undefined
        ? describeSubject(finding.subject)
        : `${describeSubject(finding.subject)} (${place.file}:${place.line})`,
    ),
    clean(finding.message),
  ]);
  const actions = new Map(findings.map(({ finding }) => [`${finding.code} ${actionOf(finding)}`, finding]));
  const advice = [...actions.values()]
    .toSorted((a, b) => (a.code < b.code ? -1 : a.code > b.code ? 1 : 0))
    .map((finding) => [finding.code, clean(actionOf(finding))]);
  return `${printTable([['SEVERITY', 'CODE', 'OBJECT', 'MESSAGE'], ...rows])}\n${printTable([['CODE', 'WHAT TO DO'], ...advice])}`;
}

/** Names and messages may come from anybody: what a terminal would take for a command is left out. */
const clean = (text: string): string => text.replace(/\p{Cc}+/gu, ' ');

function asData({ finding, place }: PlacedFinding): unknown {
  const { code, subject, path, message } = finding;
  return {
    code,
    severity: severityOf(finding),
    title: CATALOGUE[code].title,
    object: subject,
    ...(path === undefined || path === '' ? {} : { path }),
    ...(place === undefined ? {} : place),
    message,
    action: actionOf(finding),
  };
}
