import { cpSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { namesIn } from '../../../pipeline/files.ts';
import { adoptDate } from '../../../pipeline/publish/adopt.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { headOf } from '../../../schemas/head.ts';
import { layout } from '../../../schemas/layout.ts';
import type { Manifest } from '../../../schemas/manifest.ts';
import { logicalContent, sameContent } from '../../support/data/content.ts';
import { aroundMidnight } from '../../support/data/small-world.ts';
import { asObserved, MONTH_LATER_MS, onRoot, preparedMonth, type RawScan, scratch } from '../../support/data/world.ts';
import { faultsOf } from '../../support/kill/killed.ts';

const DATE = '2026-05-01';

/** Puts a date that was made of some scans into the inbox of a root. Returns its folder. */
async function handOver(root: string, name: string, scans: readonly RawScan[]): Promise<string> {
  const folder = join(root, layout.finishedDate(name));
  cpSync(await preparedMonth(scans), folder, { recursive: true });
  return folder;
}

/** Adopts dates until the inbox is empty. Returns what became of each. */
function adoptAll(root: string, storm_day_start_hour = 0): Promise<(readonly [name: string, status: string])[]> {
  return onRoot(root, { now_ms: MONTH_LATER_MS, storm_day_start_hour }, async ({ root: opened }) => {
    const statuses: (readonly [string, string])[] = [];
    for (;;) {
      const adoption = await adoptDate(opened, MONTH_LATER_MS);
      if (adoption === null) return statuses;
      statuses.push([adoption.name, adoption.status]);
    }
  });
}

/** Changes the manifest of a date. */
async function editManifest(folder: string, edit: (manifest: Manifest) => Manifest): Promise<void> {
  const manifest = await readNewest(folder, DATE);
  if (manifest === null) throw new Error(`${folder} holds no ${DATE}`);
  const edited = edit(manifest);
  await fs.writeFile(join(folder, layout.manifest(DATE, edited.commit)), JSON.stringify(edited));
  await fs.writeFile(join(folder, layout.head(DATE)), JSON.stringify(headOf(edited)));
}

async function fileOf(folder: string, isWanted: (file: Manifest['files'][number]) => boolean): Promise<string> {
  const path = (await readNewest(folder, DATE))?.files.find(isWanted)?.path;
  if (path === undefined) throw new Error(`${folder} holds no such file`);
  return join(folder, path);
}

async function flipByte(path: string): Promise<void> {
  const bytes = await fs.readFile(path);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  await fs.writeFile(path, bytes);
}

test('a finished date is published whole, and the same date a second time is not committed again', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  await handOver(root, `${DATE}-00000001`, scans);
  await handOver(root, `${DATE}-00000002`, scans);
  t.deepEqual(await adoptAll(root), [
    [`${DATE}-00000001`, 'adopted'],
    [`${DATE}-00000002`, 'published'],
  ]);
  t.is((await readNewest(root, DATE))?.commit, 1);
  sameContent(t, await logicalContent(root), await logicalContent(await preparedMonth(scans)));
  t.deepEqual(await faultsOf(root), []);
  t.deepEqual(await namesIn(join(root, layout.finishedDates)), []);
});

test('a finished date takes the place of published scans that it holds, too', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  cpSync(await preparedMonth(scans.slice(0, 2)), root, { recursive: true });
  await handOver(root, `${DATE}-00000001`, scans);
  t.deepEqual(await adoptAll(root), [[`${DATE}-00000001`, 'adopted']]);
  t.is((await readNewest(root, DATE))?.scans.length, 3);
  t.deepEqual(await faultsOf(root), []);
});

test.serial('a file system without hard links takes a finished date as copies', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  await handOver(root, `${DATE}-00000001`, scans);
  const { link } = fs;
  t.teardown(() => Object.assign(fs, { link }));
  Object.assign(fs, { link: () => Promise.reject(new Error('EPERM: operation not permitted')) });
  t.deepEqual(await adoptAll(root), [[`${DATE}-00000001`, 'adopted']]);
  t.deepEqual(await faultsOf(root), []);
});

type Damage = (folder: string, t: ExecutionContext) => Promise<unknown>;

const REFUSED: readonly (readonly [what: string, reason: RegExp, damage: Damage, hour?: number])[] = [
  [
    'with a flipped byte in a table',
    /'tables\/detections\/.*' has sha256 [0-9a-f]{64}, expected [0-9a-f]{64}/,
    async (folder) => flipByte(await fileOf(folder, ({ table }) => table === 'detections')),
  ],
  [
    'with a short archive of tiles',
    /'tiles\/scan\/.*' has 100 bytes, expected \d+/,
    async (folder) => fs.truncate(await fileOf(folder, ({ kind }) => kind === 'scan-tiles'), 100),
  ],
  [
    'without its checkpoint',
    /'state\/.*' is missing/,
    async (folder) => fs.rm(await fileOf(folder, ({ kind }) => kind === 'state')),
  ],
  [
    'without its raw files',
    /scan 20260501T235504Z has other raw files than its manifest states/,
    (folder) => fs.rm(join(folder, layout.raw), { recursive: true }),
  ],
  [
    'with a path outside its folder',
    /'tables\/date=2026-05-01\/..\/..\/root.json' is no path of a published file of the date/,
    (folder) =>
      editManifest(folder, (manifest) => ({
        ...manifest,
        files: manifest.files.map((file) => ({ ...file, path: `tables/date=${DATE}/../../root.json` })),
      })),
  ],
  [
    'that is a file',
    /is a file, expected the folder of a finished date/,
    async (folder) => {
      await fs.rm(folder, { recursive: true });
      await fs.writeFile(folder, 'a note');
    },
  ],
  [
    'that is not closed',
    /has no manifest of a closed date with scans/,
    (folder) => editManifest(folder, (manifest) => ({ ...manifest, closed: false })),
  ],
  [
    'without a manifest',
    /has no manifest of a closed date/,
    (folder) => fs.rm(join(folder, layout.manifests), { recursive: true }),
  ],
  [
    'of another data format',
    /has data format 99/,
    (folder) => fs.writeFile(join(folder, layout.root), JSON.stringify({ manifest_version: 1, format: 99 })),
  ],
  [
    'of another start of the storm day',
    /storm day starts at 12 UTC, expected 0 \(HAIL_STORM_DAY_START_HOUR\)/,
    (folder) => editManifest(folder, (manifest) => ({ ...manifest, storm_day_start_hour: 12 })),
  ],
];

for (const [what, reason, damage] of REFUSED)
  test(`a finished date ${what} is refused whole, with the reason`, async (t) => {
    const scans = (await aroundMidnight()).slice(0, 3);
    const root = await scratch(t);
    const name = `${DATE}-00000001`;
    await damage(await handOver(root, name, scans), t);
    await handOver(root, `${DATE}-00000002`, scans);
    t.deepEqual(await adoptAll(root), [
      [name, 'rejected'],
      [`${DATE}-00000002`, 'adopted'],
    ]);
    t.regex(await fs.readFile(join(root, layout.rejectedDateReason(name)), 'utf8'), reason);
    t.deepEqual(await namesIn(join(root, 'inbox/rejected/dates')), [name, `${name}.reason.json`]);
    t.deepEqual(await faultsOf(root), []);
  });

test('a finished date that lacks a published scan is refused, and the published scans stay', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  cpSync(await preparedMonth(scans), root, { recursive: true });
  const before = await logicalContent(root);
  const name = `${DATE}-00000001`;
  await handOver(root, name, scans.slice(1));
  t.deepEqual(await adoptAll(root), [[name, 'rejected']]);
  t.regex(
    await fs.readFile(join(root, layout.rejectedDateReason(name)), 'utf8'),
    /lacks 1 of 3 published scans \(20260501T235504Z first\), expected all/,
  );
  sameContent(t, await logicalContent(root), before);
});

test('a finished date of the other kind is refused, and the published scans stay', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  cpSync(await preparedMonth(scans), root, { recursive: true });
  const name = `${DATE}-00000001`;
  await handOver(root, name, await asObserved(t, scans));
  t.deepEqual(await adoptAll(root), [[name, 'rejected']]);
  t.regex(
    await fs.readFile(join(root, layout.rejectedDateReason(name)), 'utf8'),
    /holds observed data, expected simulated data as the data root holds/,
  );
  t.is((await readNewest(root, DATE))?.source, 'simulated');
});
