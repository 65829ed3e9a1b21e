import test from 'ava';
import { planStretches } from '../../../pipeline/scans/redo-plan.ts';
import { type LostInputs, planScans, type ScanPlan } from '../../../pipeline/sources/plan.ts';
import type { CommittedScan } from '../../../schemas/manifest.ts';
import { named } from '../../support/data/source-files.ts';

const plans = (...times: string[]) => planScans(times.map((time) => named('MESH', time))).scans;
const clock = (scan_id: string) => `${scan_id.slice(9, 11)}:${scan_id.slice(11, 13)}`;

/** Published scans: segments are written `02:00 02:02 | 02:04`. */
function published(picture: string): CommittedScan[] {
  return picture.split('|').flatMap((times) => {
    const scans = plans(
      ...times
        .trim()
        .split(/\s+/)
        .map((time) => `${time}:00`),
    );
    const segment = `${scans[0]?.scan_id}_${scans.at(-1)?.scan_id}`;
    return scans.map(({ scan_id, inputs }) => ({ scan_id, segment, inputs }));
  });
}

function refuse(_: ScanPlan, loss: LostInputs): void {
  throw loss;
}

/** What is planned, in the words of the pictures. */
function planned(given: string, before: string, startHour = 0, onLoss = refuse) {
  const scans = plans(
    ...given
      .trim()
      .split(/\s+/)
      .map((time) => `${time}:00`),
  );
  return planStretches(scans, before === '' ? [] : published(before), startHour, onLoss).map((chain) => ({
    replaces: chain.redo.map((redo) => redo.replaces.map((scan) => clock(scan.scan_id)).join(' ')),
    redo: chain.redo.map((redo) =>
      redo.hours
        .flat()
        .map((scan) => clock(scan.scan_id))
        .join(' '),
    ),
    append: chain.append.map((hour) => hour.map((scan) => clock(scan.scan_id)).join(' ')),
  }));
}

test('new scans are appended by the hour', (t) => {
  t.deepEqual(planned('01:56 01:58 02:00 02:02', ''), [
    { replaces: [], redo: [], append: ['01:56 01:58', '02:00 02:02'] },
  ]);
});

test('a storm date that begins within a stretch parts its hours', (t) => {
  t.deepEqual(planned('11:58 12:00', '', 12)[0]?.append, ['11:58', '12:00']);
});

test('published scans whose inputs are the same need no work', (t) => {
  t.deepEqual(planned('02:00 02:02', '02:00 02:02'), []);
});

test('a late scan makes its segment and the ones after it again, with what is new after them', (t) => {
  t.deepEqual(planned('02:00 02:02 02:04 02:06 02:08 02:10', '02:00 02:02 | 02:04 02:08'), [
    { replaces: ['02:04 02:08'], redo: ['02:04 02:06 02:08'], append: ['02:10'] },
  ]);
});

test('a scan that falls between two segments is made with the later one', (t) => {
  t.deepEqual(planned('02:00 02:02 02:04', '02:00 | 02:04'), [
    { replaces: ['02:04'], redo: ['02:02 02:04'], append: [] },
  ]);
});

test('a scan before everything published is made with the first segment', (t) => {
  t.deepEqual(planned('01:58 02:00 02:02', '02:00 | 02:02'), [
    { replaces: ['02:00', '02:02'], redo: ['01:58 02:00', '02:02'], append: [] },
  ]);
});

test('stretches that are more than 30 minutes apart are planned on their own', (t) => {
  t.deepEqual(planned('02:00 02:02 02:04 02:40 02:42', '02:00 02:04 | 02:40'), [
    { replaces: ['02:00 02:04'], redo: ['02:00 02:02 02:04'], append: [] },
    { replaces: [], redo: [], append: ['02:42'] },
  ]);
});

test('a gap of 30 minutes does not part a stretch', (t) => {
  t.is(planned('02:00 02:30', '').length, 1);
});

test('a segment that bridges a gap keeps its stretches together', (t) => {
  t.deepEqual(planned('02:00 02:02 02:40 02:42', '02:00 02:40'), [
    { replaces: ['02:00 02:40'], redo: ['02:00 02:02 02:40'], append: ['02:42'] },
  ]);
});

test('a published scan that must be made again and has lost its raw files is an error', (t) => {
  t.throws(() => planned('02:00 02:02', '02:00 02:04'), { message: /raw files are gone/ });
});

test('scans that came too late to be made with others whose raw files are gone are left out, and the rest is planned', (t) => {
  const lost: string[] = [];
  const plan = planned('02:02 02:06 02:08 02:10 02:12', '02:00 02:04 | 02:08', 0, (scan, loss) => {
    lost.push(`${clock(scan.scan_id)} ${loss.subject}`);
  });
  t.deepEqual(plan, [{ replaces: ['02:08'], redo: ['02:06 02:08'], append: ['02:10 02:12'] }]);
  t.deepEqual(lost, ['02:02 20240228T020000Z (and 1 more)']);
});
