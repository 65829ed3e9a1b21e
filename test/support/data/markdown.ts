import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Folder of the project. */
export const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));

/** Text of a document of the project. */
export function readDocument(path: string): string {
  return readFileSync(`${PROJECT}${path}`, 'utf8');
}

/** What stands under a heading, up to the next heading of the same or a higher level; throws when there is no such heading. */
export function sectionOf(text: string, heading: string): string {
  const lines = text.split('\n');
  const start = lines.indexOf(heading);
  if (start === -1) throw new RangeError(`no heading is '${heading}'`);
  const level = heading.indexOf(' ');
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => /^#+ /.test(line) && line.indexOf(' ') <= level);
  return rest.slice(0, end === -1 ? undefined : end).join('\n');
}

/** Cells of every table of a text, without their heads. */
export function tables(text: string): string[][][] {
  const all: string[][][] = [];
  let inTable = false;
  for (const line of text.split('\n')) {
    const isRow = line.startsWith('| ');
    if (isRow && !inTable) all.push([]);
    if (isRow)
      all.at(-1)?.push(
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
    inTable = isRow;
  }
  return all.map((rows) => rows.slice(2));
}

/** Cells of the first table of a text, without its head; throws when there is none. */
export function firstTable(text: string): string[][] {
  const [first] = tables(text);
  if (first === undefined || first.length === 0) throw new RangeError('there is no table with rows');
  return first;
}

/** Code blocks of a language, in order. */
export function codeBlocks(text: string, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, code = '']) => code);
}

/** Names set as code in a cell, in order. */
export function codeSpans(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

/** Statements of a block of SQL. */
export function statementsOf(sql: string): string[] {
  return sql
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean);
}
