import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import type { ScanInput } from '../../../pipeline/grid.ts';
import type { ScanFiles } from '../../../pipeline/read/scan.ts';
import { type Outcome, openReadAhead, type ReadScan } from '../../../pipeline/scans/read-ahead.ts';
import type { SourceFile } from '../../../pipeline/sources/names.ts';
import { openFileIndex, planScans, type ScanPlan } from '../../../pipeline/sources/plan.ts';
import { draw } from '../../support/data/draw.ts';
import { named } from '../../support/data/source-files.ts';

/** Reading from a pool that records what it is asked for and finds some files bad. Files at fault are dropped, as a run does. */
function reading(files: readonly SourceFile[], bad: readonly SourceFile[], failure?: Error) {
  const asked: string[] = [];
  const aside: string[] = [];
  const refused = new Set(bad.map((file) => file.location));
  const readFiles = async (wanted: ScanFiles): Promise<ScanInput> => {
    const paths = [wanted.mesh, ...Object.values(wanted.companions).map(({ location }) => location)];
    asked.push(
      paths
        .map((path) => path.slice(path.lastIndexOf('/') + 1).replace(/^MRMS_(\w+?)_00.50_\d+-(\d{4}).*/, '$1 $2'))
        .join(' + '),
    );
    if (failure) throw failure;
    const culprit = paths.find((path) => refused.has(path));
    if (culprit !== undefined) throw new BadInput('read', culprit, 'is bad');
    const companions = {
      posh_pct: null,
      vil_kg_m2: null,
      echo_top_18_km: null,
      echo_top_50_km: null,
      max_reflectivity_dbz: null,
    };
    return {
      scan_time: wanted.scan_time,
      simulated: false,
      mesh: draw('.'),
      companions,
      uncovered: null,
      probsevere: null,
      products: ['MESH'],
    };
  };
  const index = openFileIndex();
  index.add(files);
  const readAhead = openReadAhead({ read: readFiles, close: async () => {} }, index, 0);
  const read = async (scan: ScanPlan, upcoming: readonly ScanPlan[], work: typeof whole) => {
    while (true) {
      const found = await readAhead.read(scan, upcoming);
      const done = found?.ok ? await work(found.scan) : found;
      if (done === null) return null;
      if (done.ok) return done.scan;
      aside.push(`${done.file.product} ${done.fault.stage} ${done.fault.reason}`);
      index.remove(done.file);
    }
  };
  return { open: { read }, asked, aside, scans: planScans(files).scans };
}

/** Work that finds nothing wrong. */
const whole = async (scan: ReadScan): Promise<Outcome<ReadScan>> => ({ ok: true, scan });

test('reads a few scans ahead, each only once', async (t) => {
  const { open, asked, scans } = reading(
    ['02:00', '02:02', '02:04', '02:06', '02:08', '02:10'].map((time) => named('MESH', `${time}:00`)),
    [],
  );
  await open.read(scans[0] as (typeof scans)[0], scans.slice(1), whole);
  t.deepEqual(asked, ['MESH 0200', 'MESH 0202', 'MESH 0204', 'MESH 0206']);
  await open.read(scans[1] as (typeof scans)[0], scans.slice(2), whole);
  t.deepEqual(asked.slice(4), ['MESH 0208']);
});

test('a bad MESH file is put aside once, and its scan is none', async (t) => {
  const mesh = named('MESH', '02:00:00');
  const { open, aside, scans } = reading([mesh, named('VIL', '02:00:00')], [mesh]);
  t.is(await open.read(scans[0] as (typeof scans)[0], [], whole), null);
  t.deepEqual(aside, ['MESH read is bad']);
});

test('a bad companion is put aside once, although two scans wanted it; the older one takes its place', async (t) => {
  const bad = named('VIL', '02:01:00');
  const files = [named('MESH', '02:01:30'), named('MESH', '02:03:00'), named('VIL', '02:00:40'), bad];
  const { open, asked, aside, scans } = reading(files, [bad]);
  const first = await open.read(scans[0] as (typeof scans)[0], scans.slice(1), whole);
  const second = await open.read(scans[1] as (typeof scans)[0], [], whole);
  t.deepEqual(aside, ['VIL read is bad']);
  t.is(first?.plan.companions.vil_kg_m2?.time_ms, named('VIL', '02:00:40').time_ms);
  t.is(second?.plan.companions.vil_kg_m2?.time_ms, named('VIL', '02:00:40').time_ms);
  t.not(first?.plan.inputs, scans[0]?.inputs);
  t.deepEqual(asked.filter((one) => one === 'MESH 0201 + VIL 0200').length, 1);
});

test('a failure that is no fault of a file stops the run', async (t) => {
  const { open, aside, scans } = reading([named('MESH', '02:00:00')], [], new Error('out of memory'));
  await t.throwsAsync(open.read(scans[0] as (typeof scans)[0], [], whole), { message: 'out of memory' });
  t.deepEqual(aside, []);
});

test('a MESH file that is refused after it was read is put aside, and its scan is none from then on', async (t) => {
  const mesh = named('MESH', '02:00:00');
  const { open, aside, scans } = reading([mesh], []);
  const scan = scans[0] as (typeof scans)[0];
  const crowded = async (): Promise<Outcome<ReadScan>> => ({
    ok: false,
    file: mesh,
    fault: new BadInput('detect', mesh.location, 'too many storm cells'),
  });
  t.is(await open.read(scan, [], crowded), null);
  t.deepEqual(aside, ['MESH detect too many storm cells']);
  t.is(await open.read(scan, [], whole), null);
});
