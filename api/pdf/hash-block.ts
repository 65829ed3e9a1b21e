import { heading, PAGE, paragraph, room, type Sheet, tagged, write } from './sheet.ts';
import { BODY, CODE, CODE_SMALL } from './styles.ts';

const CHECK =
  "jq -jcS '{date_range, events, location, methodology: {version: .methodology.version}}' answer.json | sha256sum";

/** The hash in full, what it covers, and how anybody can make it again. */
export function hashBlock(sheet: Sheet, verification_hash: string): void {
  heading(sheet, 'Verification hash', 90);
  code(sheet, verification_hash, CODE);
  paragraph(
    sheet,
    'It is the SHA-256 digest of the result as canonical JSON (RFC 8785): location, date range, all events, and the version of the method. If any of them were different, so would it be; the time at which this document was made is not part of it. To check it, ask POST /v1/verify the same question, compare verification_hash in its answer, and make the digest of the answer yourself:',
    BODY,
    4,
  );
  code(sheet, CHECK, CODE_SMALL);
  paragraph(
    sheet,
    'An answer made later may differ where data were added or replaced meanwhile: compare the time of the data on the first page.',
    BODY,
  );
}

function code(sheet: Sheet, text: string, style: typeof CODE): void {
  room(sheet, style.leading + 4);
  const top = sheet.y;
  tagged(sheet, 'Code', () => write(sheet.doc, text, PAGE.left, top + style.size, style));
  sheet.y = top + style.leading + 4;
}
