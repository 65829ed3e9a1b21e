import { spawnSync } from 'node:child_process';

/** Texts of a document whose pages are not compressed, each call of the writer one, in the order in which they were drawn. */
export function textsIn(pdf: Buffer): string[] {
  return [...pdf.toString('latin1').matchAll(/\[((?:<[0-9a-f]*>|[-\d. ])*)\] TJ/g)].map(([, parts = '']) =>
    [...parts.matchAll(/<([0-9a-f]*)>/g)]
      .map(([, hex = '']) => new TextDecoder('windows-1252').decode(Buffer.from(hex, 'hex')))
      .join(''),
  );
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
