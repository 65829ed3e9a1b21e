import test, { type ExecutionContext } from 'ava';
import { readConfig } from '../../../pipeline/config.ts';
import { type Fields, silent } from '../../../pipeline/log.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { joinNext } from '../../../pipeline/run/join-next.ts';
import { lastCheckpoint } from '../../../pipeline/run/make-date.ts';
import type { Manifest } from '../../../schemas/manifest.ts';
import { scanTime } from '../../../schemas/time.ts';
import { aroundMidnight } from '../../support/data/small-world.ts';
import { deliver, filesOf, preparedMonth, type RawScan, scratch } from '../../support/data/world.ts';

/** Two published dates with storms over the midnight between them; the first was made again and leaves `left_as`. */
async function openDates(t: ExecutionContext, raw: (scans: readonly RawScan[]) => readonly RawScan[]) {
  const scans = await aroundMidnight();
  const root = await preparedMonth(scans);
  const published = (await readNewest(root, '2026-05-01')) as Manifest;
  const next = (await readNewest(root, '2026-05-02')) as Manifest;
  const source = { kind: 'dir', folder: await deliver(await scratch(t, 'raw'), filesOf(raw(scans))) } as const;
  return async (left_as: string, change: Partial<Manifest> = {}) => {
    const added: string[] = [];
    const said: Fields[] = [];
    const made = {
      ...{ scans: 3, seconds: 1, rejected: 0, missing: 0, made_from: null, follows_from_ms: 0, left_as },
      ends_ms: scanTime(published.scans.at(-1)?.scan_id ?? ''),
    };
    const neighbours = { storm_date: '2026-05-01', source, made, published, next: { ...next, ...change } };
    const add = async (dates: readonly string[]) => void added.push(...dates);
    const log = { ...silent, warn: (_: string, fields: Fields) => void said.push(fields) };
    await joinNext(readConfig({ HAIL_DATA: root }), neighbours, { add }, log);
    return { added, said, before: lastCheckpoint(published)?.sha256 ?? '' };
  };
}

const COMMAND = 'hail-pipeline backfill --from 2026-05-02 --to 2026-05-02 --source dir --folder FOLDER --again';

test('the date after one that leaves other tracks is made again; one that leaves the same tracks changes nothing', async (t) => {
  const join = await openDates(t, (scans) => scans);
  const { added, said, before } = await join('other tracks');
  t.deepEqual([added, said], [['2026-05-02'], []]);
  t.deepEqual((await join(before)).added, []);
});

test('a date after it whose raw files are gone is named with the command that mends it', async (t) => {
  const join = await openDates(t, (scans) => scans.slice(0, -1));
  const { added, said } = await join('other tracks');
  const reason =
    'its tracks go on from other ones, and the source has not the raw files of 1 of its 3 scans (20260502T000508Z first)';
  t.deepEqual([added, said], [[], [{ date: '2026-05-02', reason, command: COMMAND }]]);
});

test('a date after it that is still open is named, too', async (t) => {
  const join = await openDates(t, (scans) => scans);
  const { added, said } = await join('other tracks', { closed: false });
  const reason = 'its tracks go on from other ones, and it is not closed yet';
  t.deepEqual([added, said], [[], [{ date: '2026-05-02', reason, command: COMMAND }]]);
});
