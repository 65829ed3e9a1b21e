import type { FeedFile } from './collection.ts';

/** Headings stand in the first lines; whoever asks wants to know what a file is, not to read it. */
const HEAD_BYTES = 600;

/** True for a text product whose AWIPS line, such as `LSRFSD` or `SAW3`, is as asked. */
export function hasAwipsLine({ name, bytes }: FeedFile, awips: RegExp): boolean {
  if (!/\.txt$/i.test(name)) return false;
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEAD_BYTES)).toString('latin1');
  return head
    .split(/\r?\n/)
    .slice(0, 10)
    .some((line) => awips.test(line.trim()));
}

/** True for a JSON file in which a property occurs: public files come under many names. */
export function isJsonWith({ name, bytes }: FeedFile, property: string): boolean {
  return (
    /\.(?:geo)?json$/i.test(name) && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(`"${property}"`)
  );
}
