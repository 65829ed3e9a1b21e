import { heading, PAGE, paragraph, paragraphHeight, type Sheet, tagged, write } from './sheet.ts';
import { BACK, CODE, CODE_SMALL } from './styles.ts';

const CHECK =
  "jq -jcS '{date_range, events, location, methodology: {version: .methodology.version}}' answer.json | sha256sum";

const WORDS =
  'SHA-256 of location, date range, all events and version of the method as canonical JSON (RFC 8785). To check it, ask POST /v1/verify the same question, compare its verification_hash, and make the digest of the saved answer with the line below. A later answer may differ where data came or changed: compare "Data as of" on the first page.';
const GAP = 4;

/** Height of what stands below the heading of the block, points. */
export function hashHeight(sheet: Sheet): number {
  return CODE.leading + GAP + paragraphHeight(sheet, WORDS, BACK) + GAP + CODE_SMALL.leading;
}

/** The hash in full, what it covers, and how anybody can make it again: all of it on one page. */
export function hashBlock(sheet: Sheet, verification_hash: string): void {
  heading(sheet, 'Verification hash', hashHeight(sheet));
  code(sheet, verification_hash, CODE);
  paragraph(sheet, WORDS, BACK, GAP);
  code(sheet, CHECK, CODE_SMALL);
}

function code(sheet: Sheet, text: string, style: typeof CODE): void {
  const top = sheet.y;
  tagged(sheet, 'Code', () => write(sheet, text, PAGE.left, top + style.size, style));
  sheet.y = top + style.leading + GAP;
}
