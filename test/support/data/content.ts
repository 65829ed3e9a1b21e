import fs from 'node:fs/promises';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import type { ExecutionContext } from 'ava';
import { type Engine, openEngine } from '../../../pipeline/duckdb.ts';
import { sha256 } from '../../../pipeline/files.ts';
import {
  listPartitions,
  readCurrent,
  readManifest,
  readNewest,
  tablePaths,
} from '../../../pipeline/publish/manifests.ts';
import { mergedDayMaxSql } from '../../../pipeline/publish/merge.ts';
import { readRows } from '../../../pipeline/publish/tables.ts';
import type { SourceFile } from '../../../pipeline/sources/names.ts';
import type { Current, Manifest } from '../../../schemas/manifest.ts';
import { TABLES } from '../../../schemas/tables/index.ts';
import { dayMax } from '../../../schemas/tables/radar.ts';
import { prepared } from './prepared.ts';
import {
  ingest,
  type OpenSettings,
  type PublishSettings,
  preparedRoot,
  publicationOf,
  type RawScan,
  SCRATCH,
} from './world.ts';

/** What readers can learn from a data root, part by part, as lines in an order of their own. */
export type Content = Readonly<Record<string, readonly string[]>>;

/**
 * Everything published, as readers see it: open dates at the commit that the switch pins, closed dates at their head.
 * Day maxima are added up; segment names, commit numbers and times of runs play no part.
 */
export async function logicalContent(root: string): Promise<Content> {
  const current = await readCurrent(root);
  const engine = await openEngine();
  try {
    const content: Record<string, readonly string[]> = {};
    for (const manifest of await manifestsInForce(root, current))
      Object.assign(content, await dateContent(engine, root, manifest));
    if (current !== null) Object.assign(content, await liveContent(root, current));
    return content;
  } finally {
    engine.close();
  }
}

/** Content of a data root that saw scans once and in order; worked out once for all test processes. */
export async function contentOf(scans: readonly RawScan[], settings: PublishSettings = {}): Promise<Content> {
  const folder = await prepared(`content-${await publicationOf(scans, settings)}`, async (draft) => {
    const content = await logicalContent(await preparedRoot(scans, settings));
    await fs.writeFile(join(draft, 'content.json'), JSON.stringify(content));
  });
  return JSON.parse(await fs.readFile(join(folder, 'content.json'), 'utf8')) as Content;
}

/** Content of a data root that saw files once. */
export async function contentOfFiles(files: readonly SourceFile[], settings: OpenSettings = {}): Promise<Content> {
  const root = await fs.mkdtemp(join(SCRATCH, 'hail-test-'));
  try {
    await ingest(root, files, settings);
    return await logicalContent(root);
  } finally {
    await fs.rm(root, { recursive: true });
  }
}

/** Fails with the first line of each part that differs. */
export function sameContent(t: ExecutionContext, found: Content, expected: Content): void {
  const differences = [...new Set([...Object.keys(expected), ...Object.keys(found)])].flatMap((part) => {
    const [a, b] = [found[part] ?? [], expected[part] ?? []];
    const at = Array.from({ length: Math.max(a.length, b.length) }).findIndex((_, line) => a[line] !== b[line]);
    return at === -1 ? [] : [{ part, at, found: a[at], expected: b[at] }];
  });
  t.deepEqual(differences, []);
}

/** The lists that readers follow. */
async function manifestsInForce(root: string, current: Current | null): Promise<Manifest[]> {
  if (current === null) return [];
  const found: Manifest[] = [];
  for (const date of (await listPartitions(root)).dates) {
    const pinned = current.open_dates[date];
    const head = await readNewest(root, date);
    const manifest = pinned === undefined ? (head?.closed ? head : null) : await readManifest(root, date, pinned);
    if (manifest !== null && manifest.scans.length > 0) found.push(manifest);
  }
  return found;
}

async function dateContent(engine: Engine, root: string, manifest: Manifest): Promise<Content> {
  const date = manifest.partition;
  const content: Record<string, readonly string[]> = {
    [`${date} scans`]: manifest.scans.map(({ scan_id, inputs }) => `${manifest.source} ${scan_id} ${inputs}`),
  };
  for (const table of TABLES) {
    const paths = tablePaths(root, manifest, table.name);
    const rows =
      table === dayMax && paths.length > 0
        ? await engine.rows(mergedDayMaxSql(paths, tablePaths(root, manifest, 'detections')))
        : await readRows(engine, table, paths);
    content[`${date} ${table.name}`] = rows.map((row) => JSON.stringify(row)).sort();
  }
  const frames = manifest.files.filter((file) => file.kind === 'scan-tiles' || file.kind === 'daily-tiles');
  content[`${date} tiles`] = await Promise.all(frames.map((file) => hashOf(root, file.path, file.kind))).then((all) =>
    all.sort(),
  );
  const last = manifest.scans.at(-1)?.scan_id;
  const states = manifest.files.filter((file) => file.kind === 'state' && file.last_scan === last);
  content[`${date} state`] = await Promise.all(states.map((file) => hashOf(root, file.path, file.kind)));
  return content;
}

async function liveContent(root: string, current: Current): Promise<Content> {
  const { detections, cells, tracks, first_scan } = current.live;
  const content: Record<string, readonly string[]> = {
    switch: [current.scan_id, current.data_timestamp, current.source, first_scan],
  };
  for (const [name, path] of Object.entries({ detections, cells, tracks })) {
    const table = tableFromIPC(await fs.readFile(join(root, path)));
    content[`live ${name}`] = table
      .toArray()
      .map((row) => JSON.stringify(row))
      .sort();
  }
  return content;
}

async function hashOf(root: string, path: string, kind: string): Promise<string> {
  return `${kind} ${sha256(await fs.readFile(join(root, path)))}`;
}
