import test from 'ava';
import { terminalLog } from '../../pipeline/log.ts';
import { ingest, scansBetween, scratch } from '../support/data/world.ts';

function spoken() {
  const lines: string[] = [];
  return { lines, log: terminalLog((line) => void lines.push(line)) };
}

test('a stream on a terminal tells every scan in a line', async (t) => {
  const scans = await scansBetween('23:50', '23:57');
  const { lines, log } = spoken();
  await ingest(await scratch(t), scans, { log, each_scan: true });
  t.is(lines.length, scans.length);
  for (const [index, { scan_id }] of scans.entries())
    t.regex(lines[index] ?? '', new RegExp(`^${scan_id}  [\\d,]+ detections?, [\\d,]+ storm cells?$`));
});

test('a scan that came late says how many were made again', (t) => {
  const { lines, log } = spoken();
  const fields = { scans: 3, redone: 2, newest: '20260501T235600Z', detections: 1234, cells: 1, dates: [] };
  log.info('Scan:Commit:Done', fields);
  t.deepEqual(lines, [
    '20260501T235600Z  1,234 detections, 1 storm cell  (2 of 3 scans made again because something came late)',
  ]);
});

test('warnings are told with their fields, and events that are for logs are not told', (t) => {
  const { lines, log } = spoken();
  log.info('File:Name:Unknown', { file: 'x' });
  log.warn('File:Fetch:Failed', { file: 'a.grib2.gz', reason: 'server answers 503' });
  log.info('Stream:Stop', {});
  t.deepEqual(lines, ['File:Fetch:Failed file=a.grib2.gz reason=server answers 503', 'Stopped.']);
});
