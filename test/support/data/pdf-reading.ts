import { spawnSync } from 'node:child_process';

const SHOWN = /\[((?:<[0-9a-f]*>|[-\d. ])*)\] TJ/g;
const PLACED = /1 0 0 1 [-\d.]+ ([-\d.]+) Tm\n\S+ [\d.]+ Tf\n\[((?:<[0-9a-f]*>|[-\d. ])*)\] TJ/g;

function decoded(parts: string): string {
  return [...parts.matchAll(/<([0-9a-f]*)>/g)]
    .map(([, hex = '']) => new TextDecoder('windows-1252').decode(Buffer.from(hex, 'hex')))
    .join('');
}

/** Texts of a document whose pages are not compressed, each call of the writer one, in the order in which they were drawn. */
export function textsIn(pdf: Buffer): string[] {
  return [...pdf.toString('latin1').matchAll(SHOWN)].map(([, parts = '']) => decoded(parts));
}

/** Texts of each page of such a document with the height of their baselines above its lower edge, points. */
export function placedTexts(pdf: Buffer): { readonly text: string; readonly above: number }[][] {
  const file = pdf.toString('latin1');
  return [...file.matchAll(/\/Type \/Page\n[^>]*\/Contents (\d+) 0 R/g)].map(([, id]) => {
    const from = file.indexOf('stream\n', file.indexOf(`\n${id} 0 obj\n`));
    const page = file.slice(from, file.indexOf('\nendstream', from));
    return [...page.matchAll(PLACED)].map(([, above, parts = '']) => ({ text: decoded(parts), above: Number(above) }));
  });
}

/** Pages of a document. */
export function pagesIn(pdf: Buffer): number {
  return pdf.toString('latin1').match(/\/Type \/Page\n/g)?.length ?? 0;
}

export const hasPdftotext = spawnSync('pdftotext', ['-v']).status === 0;

/** Text of a document as poppler reads it, page by page, white space made single spaces. */
export function pagesByPoppler(pdf: Buffer): string[] {
  const { status, stdout, stderr } = spawnSync('pdftotext', ['-raw', '-enc', 'UTF-8', '-', '-'], {
    input: pdf,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`pdftotext ended with ${status}: ${stderr}`);
  return stdout
    .split('\f')
    .slice(0, -1)
    .map((page) => page.replace(/\s+/g, ' '));
}
