import { scanId } from '../../schemas/time.ts';
import { BadInput } from '../error.ts';

/** One field of a GRIB2 file as its index lists it; fields of one message share an offset. */
export interface IndexEntry {
  readonly offset: number;
  /** First byte of the next message; null for the last one, which ends with the file. */
  readonly end: number | null;
  readonly name: string;
  readonly level: string;
}

/** Bytes from `start` up to, not including, `end`; to the end of the file where that is null. */
export interface ByteRange {
  readonly start: number;
  readonly end: number | null;
}

/** `number:offset:d=YYYYMMDDHH:NAME:level:forecast:`, the number with a fraction for fields that share a message. */
const LINE = /^\d+(?:\.\d+)?:(\d{1,15}):d=(\d{10}):([^:]+):([^:]+):[^:]*:/;

/**
 * Fields of an index file, in file order. Throws BadInput for a line that is none, for offsets that go back, and for
 * another run than expected: byte ranges of an index that does not fit would cut messages in two.
 */
export function parseIndex(text: string, subject: string, run_time: number): IndexEntry[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw new BadInput('sources', subject, 'index without a line, expected one for each field');
  const run = scanId(run_time).replace('T', '').slice(0, 10);
  const entries = lines.map((line, k) => {
    const [, offset = '', date, name = '', level = ''] = LINE.exec(line.trim()) ?? [];
    const found = line.trim().slice(0, 60);
    if (date === undefined)
      throw new BadInput('sources', subject, `line ${k + 1} is '${found}', expected number:offset:d=date:name:level:`);
    if (date !== run) throw new BadInput('sources', subject, `line ${k + 1} is of run ${date}, expected ${run}`);
    return { offset: Number(offset), name, level };
  });
  const offsets = [...new Set(entries.map(({ offset }) => offset))];
  for (const [k, { offset }] of entries.entries())
    if (offset < (entries[k - 1]?.offset ?? 0))
      throw new BadInput(
        'sources',
        subject,
        `line ${k + 1} begins at ${offset}, expected at least ${entries[k - 1]?.offset}`,
      );
  const next = new Map(offsets.map((offset, k) => [offset, offsets[k + 1] ?? null]));
  return entries.map((entry) => ({ ...entry, end: next.get(entry.offset) ?? null }));
}

/** A field by its name, on the first of its levels that an index lists. */
export interface IndexWish {
  readonly name: string;
  readonly levels: readonly string[];
}

/** The fields that the hail forecast takes from a model, in the words of index files. */
export const HAIL_WISHES: readonly IndexWish[] = [
  { name: 'REFC', levels: ['entire atmosphere', 'entire atmosphere (considered as a single layer)'] },
  { name: 'MXUPHL', levels: ['5000-2000 m above ground'] },
  { name: 'HAIL', levels: ['surface'] },
  {
    name: 'CAPE',
    levels: ['255-0 mb above ground', '180-0 mb above ground', '90-0 mb above ground', 'surface'],
  },
  ...['700 mb', '500 mb'].flatMap((level) => [
    { name: 'TMP', levels: [level] },
    { name: 'HGT', levels: [level] },
  ]),
  { name: 'HGT', levels: ['0C isotherm'] },
  { name: 'HGT', levels: ['surface'] },
  { name: 'VUCSH', levels: ['0-6000 m above ground'] },
  { name: 'VVCSH', levels: ['0-6000 m above ground'] },
  { name: 'SPFH', levels: ['2 m above ground'] },
];

/** Messages that hold the wished fields; those that follow each other in the file are joined. */
export function wishedRanges(entries: readonly IndexEntry[], wishes: readonly IndexWish[]): ByteRange[] {
  const wished = wishes.flatMap(({ name, levels }) => {
    const level = levels.find((each) => entries.some((entry) => entry.name === name && entry.level === each));
    return entries.filter((entry) => entry.name === name && entry.level === level);
  });
  const ranges: ByteRange[] = [];
  for (const { offset, end } of wished.toSorted((a, b) => a.offset - b.offset)) {
    const last = ranges.at(-1);
    if (last?.end === offset) ranges[ranges.length - 1] = { start: last.start, end };
    else if (last === undefined || (last.end !== null && last.end < offset)) ranges.push({ start: offset, end });
  }
  return ranges;
}
