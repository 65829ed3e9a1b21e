import { type Fields, silent } from '../../../pipeline/log.ts';

/** A log that writes down commits and refusals in their order. */
export function diary() {
  const lines: string[] = [];
  const word = (event: string, fields: Fields) =>
    event === 'Scan:Commit:Done' ? `${fields.redone === 0 ? 'new' : 'again'} ${fields.newest}` : event;
  const note = (event: string, fields: Fields) => lines.push(word(event, fields));
  return { lines, log: { ...silent, info: note, warn: note } };
}
