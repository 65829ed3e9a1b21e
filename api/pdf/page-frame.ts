import type { NotRealMark } from './provenance-words.ts';
import type { ReportMaterial } from './report-material.ts';
import { artifact, PAGE, rule, type Sheet, writeLine } from './sheet.ts';
import { SMALL, STRONG, WARNING } from './styles.ts';
import { DOCUMENT_NAME } from './title-block.ts';
import { coordinates, reportName } from './words.ts';

const BAND_HEIGHT = 22;
/** Characters of the hash at the foot of a page: `sha256:` and twelve digits. */
const HASH_PREFIX = 19;

/** Draws the frame of every page: report, hash and page number at the foot, place at the top, bands where data are not real. */
export function drawPageFrames(
  sheet: Sheet,
  { report_id, verification }: ReportMaterial,
  not_real: NotRealMark | null,
): void {
  const { doc } = sheet;
  const { count } = doc.bufferedPageRange();
  for (let page = 0; page < count; page++) {
    doc.switchToPage(page);
    artifact(doc, 'Pagination', () => {
      if (not_real !== null) drawBands(sheet, not_real.band);
      if (page > 0) {
        writeLine(sheet, DOCUMENT_NAME, PAGE.left, 42, SMALL);
        writeLine(sheet, coordinates(verification.location), PAGE.right, 42, SMALL, 'right');
      }
      rule(doc, PAGE.left, PAGE.right, 744);
      writeLine(sheet, reportName(report_id), PAGE.left, 756, SMALL);
      writeLine(
        sheet,
        `${verification.verification_hash.slice(0, HASH_PREFIX)}…`,
        PAGE.width / 2,
        756,
        SMALL,
        'center',
      );
      writeLine(sheet, `Page ${page + 1} of ${count}`, PAGE.right, 756, SMALL, 'right');
    });
  }
}

/** Bands over the whole width at top and foot: cropping one margin leaves the other band. */
function drawBands(sheet: Sheet, text: string): void {
  const style = { ...STRONG, size: 11, color: '#ffffff' };
  for (const y of [0, PAGE.height - BAND_HEIGHT]) {
    sheet.doc.rect(0, y, PAGE.width, BAND_HEIGHT).fill(WARNING);
    writeLine(sheet, text, PAGE.width / 2, y + 15, style, 'center');
  }
}
