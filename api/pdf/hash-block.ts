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
    'SHA-256 digest of the result as canonical JSON (RFC 8785): location, date range, all events, version of the method. To check it, ask POST /v1/verify the same question, compare verification_hash in its answer, and make the digest of the saved answer yourself with the line below. A later answer may differ where data were added or replaced meanwhile: compare the time of the data on the first page.',
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
