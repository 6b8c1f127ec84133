/** A table as people read it: the first row has the headings. */
export type Table = readonly (readonly string[])[];

/** Columns of texts, three spaces apart, as kubectl prints them. What a terminal would take for a command is left out. */
export function printTable(table: Table): string {
  const rows = table.map((row) => row.map((cell) => cell.replace(/\p{Cc}/gu, '')));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('   ')
      .trimEnd(),
  );
  return lines.map((line) => `${line}\n`).join('');
}
