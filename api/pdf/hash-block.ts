import { heading, PAGE, paragraph, room, type Sheet, tagged, write } from './sheet.ts';
import { BACK, CODE, CODE_SMALL } from './styles.ts';

const CHECK =
  "jq -jcS '{date_range, events, location, methodology: {version: .methodology.version}}' answer.json | sha256sum";

/** The hash in full, what it covers, and how anybody can make it again. */
export function hashBlock(sheet: Sheet, verification_hash: string): void {
  heading(sheet, 'Verification hash', 64);
  code(sheet, verification_hash, CODE);
  paragraph(
    sheet,
    'SHA-256 of location, date range, all events and version of the method as canonical JSON (RFC 8785). To check it, ask POST /v1/verify the same question, compare its verification_hash, and make the digest of the saved answer with the line below. A later answer may differ where data came or changed: compare "Data as of" on the first page.',
    BACK,
    4,
  );
  code(sheet, CHECK, CODE_SMALL);
}

function code(sheet: Sheet, text: string, style: typeof CODE): void {
  room(sheet, style.leading + 4);
  const top = sheet.y;
  tagged(sheet, 'Code', () => write(sheet, text, PAGE.left, top + style.size, style));
  sheet.y = top + style.leading + 4;
}
