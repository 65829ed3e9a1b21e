import { join } from 'node:path';
import { counted, grouped, readableBytes } from '../../schemas/command-line.ts';
import { sizeCategory } from '../../schemas/size.ts';
import { MM_PER_INCH } from '../../schemas/units.ts';
import type { IngestReport, IngestSource } from '../run/ingest-source.ts';
import type { RunSummary } from '../scans/ingest.ts';

/** Result of an ingest in lines for people, and the next commands. */
export function ingestText(report: IngestReport, source: IngestSource, data_root: string): string {
  const { kind } = source;
  const { run, published: summary, dates, source: provenance, seconds } = report;
  const { unknown_files: unknown, unreadable_files: unreadable, missing_files: missing, climatology } = report;
  const lines: string[] = [];
  const line = (label: string, text: string) => lines.push(`  ${label.padEnd(13)} ${text}`);
  const list = (title: (files: string) => string, rows: readonly string[]) => {
    if (rows.length === 0) return;
    lines.push('', `${title(counted(rows.length, 'file'))}:`, ...rows.slice(0, 5).map((row) => `  ${row}`));
    if (rows.length > 5) lines.push(`  and ${rows.length - 5} more`);
  };
  if (run.scans + run.redone === 0) {
    lines.push(`Nothing to do: ${nothingToDo(kind, run)}.`);
  } else {
    const redone = run.redone > 0 ? `, ${grouped(run.redone)} made again` : '';
    lines.push(
      `Published ${counted(run.scans, provenance === 'simulated' ? 'simulated scan' : 'scan')}${redone} in ${seconds} s.`,
    );
  }
  if (summary.scans > 0) {
    const size = summary.max_size_mm;
    lines.push(
      '',
      `Storm date${dates.length === 1 ? '' : 's'} ${dates.join(', ')}${provenance === 'simulated' ? '  (SIMULATED, not observed)' : ''}`,
    );
    line('scans', grouped(summary.scans));
    line('detections', `${grouped(summary.detections)} pixels of 10 mm and more`);
    if (dates.length > 1 && summary.most_hail !== null)
      line('most hail', `${summary.most_hail.date}, ${counted(summary.most_hail.detections, 'detection')}`);
    line('storm cells', grouped(summary.cells));
    line('tracks', grouped(summary.tracks));
    line('swath tiers', summary.tiers_mm.length === 0 ? 'none' : `${summary.tiers_mm.join(', ')} mm`);
    if (size !== null)
      line(
        'largest hail',
        `${size.toFixed(1)} mm  (${(size / MM_PER_INCH).toFixed(2)} in, ${sizeCategory(size)?.replace('_', ' ') ?? 'below nickel'})`,
      );
    const others = Object.entries(report.feed_items).map(([collection, items]) => `${grouped(items)} in ${collection}`);
    if (report.model_hours > 0) others.push(counted(report.model_hours, 'model hour'));
    if (others.length > 0) line('beside scans', others.join(', '));
    if (climatology !== null)
      line('climatology', `made from ${counted(climatology.storm_dates, `${climatology.source} storm date`)}`);
    line('files', `${grouped(summary.files)}, ${readableBytes(summary.bytes)} under ${data_root}`);
  }
  const reasonOf = ({ file, reason }: { readonly file: string; readonly reason: string }) => `${file}: ${reason}`;
  list((files) => `${files} put aside under ${join(data_root, 'inbox/rejected')}`, run.rejected.map(reasonOf));
  list((files) => `${files} could not be fetched; the same command fetches what is missing`, missing.map(reasonOf));
  list(
    (files) => `${files} left where found, for a later run`,
    [...run.postponed.map(reasonOf), ...unreadable.map(({ key, reason }) => `${key}: ${reason}`)],
  );
  list(
    (files) => `${files} of other feeds not used`,
    report.feed_failures.map(({ name, reason }) => `${name}: ${reason}`),
  );
  if (run.unused > 0) lines.push('', `${counted(run.unused, 'file')} of other products kept, used by no scan.`);
  if (unknown.length > 0)
    lines.push('', `${counted(unknown.length, 'file')} not recognised by name and left alone, such as ${unknown[0]}.`);
  if (dates.length > 0 && summary.scans > 0) {
    const next = (command: string, what: string) => lines.push(`  ${command.padEnd(NEXT_CHARS)} ${what}`);
    lines.push('', 'Next:');
    next('make serve', 'answer questions about it; the map is at /viewer');
    next('npx hail-pipeline verify', 're-read everything published');
    next(...followUp(source));
  }
  return `${lines.join('\n')}\n`;
}

/** Width of a command in the list of next steps. */
const NEXT_CHARS = 57;

/** Command that continues with a source, and what it does. */
function followUp(source: IngestSource): [command: string, what: string] {
  switch (source.kind) {
    case 'simulate':
      return ['make ingest', 'again: the evening goes on'];
    case 'dir':
      return [`npx hail-pipeline stream --from ${shellWord(source.folder)}`, 'publish what comes into this folder'];
    case 'noaa':
      return ['make stream', 'follow the public bucket'];
  }
}

/** A text as one word of a shell. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function nothingToDo(kind: IngestSource['kind'], { skipped, postponed }: RunSummary): string {
  const all = postponed.length > 0 ? 'every scan that can be made now is' : 'all of them';
  if (skipped > 0 && kind !== 'simulate') return `${counted(skipped, 'scan')} found, ${all} published already`;
  if (postponed.length > 0) return `${counted(postponed.length, 'file')} found that cannot be worked on now`;
  return kind === 'simulate' ? 'the simulated evening is up to date' : 'no MESH scan found';
}
