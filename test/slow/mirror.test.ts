import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { filesBelow, sizeOf } from '../../pipeline/files.ts';
import { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { Current, Manifest } from '../../schemas/manifest.ts';
import { PROJECT } from '../support/data/markdown.ts';
import { midnight } from '../support/data/small-world.ts';
import { onRoot, scratch } from '../support/data/world.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const MIRROR = join(PROJECT, 'data/examples/deploy/mirror-to-bucket.sh');
const DATES = ['2026-05-01', '2026-05-02'];

/** A list of a bucket; null when it is not there. A folder, unlike a bucket, shows a list while it is written: it is read again. */
async function readList(bucket: string, path: string): Promise<unknown> {
  for (;;) {
    if (!existsSync(join(bucket, path))) return null;
    try {
      return JSON.parse(await fs.readFile(join(bucket, path), 'utf8'));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
}

/** Names without a whole file, of all that `current.json` leads to; null before the first mirror. */
async function lostFrom(bucket: string): Promise<string[] | null> {
  const pointer = await readList(bucket, layout.current);
  if (pointer === null) return null;
  const current = Current.parse(pointer);
  const { detections, cells, tracks } = current.live;
  const names: { readonly path: string; readonly bytes?: number }[] = [detections, cells, tracks].map((path) => ({
    path,
  }));
  for (const date of DATES) {
    const head = await readList(bucket, layout.head(date)).then((list) => (list === null ? null : Head.parse(list)));
    names.push(...(head?.files ?? []));
    for (const commit of new Set([current.open_dates[date], head?.commit].filter((one) => one !== undefined))) {
      const path = layout.manifest(date, commit);
      const manifest = await readList(bucket, path);
      names.push(...(manifest === null ? [{ path }] : Manifest.parse(manifest).files));
    }
  }
  const sizes = names.map(({ path }) => sizeOf(join(bucket, path)));
  const found = await Promise.all(sizes);
  return names
    .filter(({ bytes }, k) => found[k] === null || (bytes !== undefined && found[k] !== bytes))
    .map(({ path }) => path);
}

const hasRclone = spawnSync('rclone', ['version']).status === 0;

(hasRclone ? test : test.skip)(
  `a reader of the bucket never meets a name without its file while scans are published and mirrored${hasRclone ? '' : ' (needs rclone, which is absent)'}`,
  async (t) => {
    const [root, bucket, state] = [await scratch(t), await scratch(t, 'bucket'), await scratch(t, 'state')];
    const mirror = () => run(MIRROR, [root, bucket, state]);
    let isOver = false;
    let [reads, mirrors] = [0, 0];
    const reading = (async () => {
      while (!isOver) {
        const lost = await lostFrom(bucket);
        t.deepEqual(lost ?? [], []);
        if (lost !== null) reads += 1;
        await new Promise(setImmediate);
      }
    })();
    const mirroring = (async () => {
      await until(() => existsSync(join(root, layout.current)));
      for (; !isOver; mirrors += 1) await mirror();
    })();
    await onRoot(root, { each_scan: true }, async ({ session }) => {
      for (const scan of await midnight()) {
        await session.ingest(scan.files);
        const before = { reads, mirrors };
        await until(() => reads > before.reads && mirrors > before.mirrors);
      }
      await session.finishDates();
    });
    isOver = true;
    await Promise.all([reading, mirroring]);
    await mirror();
    t.deepEqual(await lostFrom(bucket), []);
    t.deepEqual(await fs.readFile(join(bucket, layout.current)), await fs.readFile(join(root, layout.current)));

    // A live snapshot that no list names any more leaves the data root, and the bucket after two hours.
    const current = await fs.readFile(join(root, layout.current), 'utf8');
    const swept = (await filesBelow(join(root, layout.live))).find((name) => !current.includes(name)) ?? '';
    await fs.rm(join(root, layout.live, swept));
    const isThere = () => existsSync(join(bucket, layout.live, swept));
    const age = (min: number) => fs.utimes(join(state, 'missing'), new Date(), new Date(Date.now() - min * 60_000));
    await age(200);
    for (const _ of ['missed for the first time', 'missed a moment ago']) {
      await mirror();
      t.true(isThere());
    }
    await age(121.5);
    await mirror();
    t.false(isThere());
    t.deepEqual(await lostFrom(bucket), []);
  },
);
