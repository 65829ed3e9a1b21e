import { type Fields, silent } from '../../../pipeline/log.ts';

/** Events of work that publishes no scan. */
const UPKEEP = /^(Date|Month|Root):/;

/** A log that writes down commits and refusals in their order. */
export function diary() {
  const lines: string[] = [];
  const word = (event: string, fields: Fields) =>
    event === 'Scan:Commit:Done' ? `${fields.redone === 0 ? 'new' : 'again'} ${fields.newest}` : event;
  const note = (event: string, fields: Fields) => {
    if (!UPKEEP.test(event)) lines.push(word(event, fields));
  };
  return { lines, log: { ...silent, info: note, warn: note } };
}
