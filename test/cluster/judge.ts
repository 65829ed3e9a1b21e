import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readCurrent } from '../../pipeline/publish/manifests.ts';
import { openReplica } from '../../pipeline/replica/replica.ts';
import { openObjectStore } from '../../schemas/object-store/client.ts';
import { type Content, logicalContent, manifestsInForce } from '../support/data/content.ts';
import { runCommand } from '../support/kill/command.ts';
import { checkCharges } from './charges.ts';
import { type Cluster, newestScan } from './cluster.ts';
import { checkDeliveries, type Place } from './deliveries.ts';
import type { Told } from './load.ts';
import { until } from './node.ts';

/** How one kind of thing came through. */
export interface Outcome {
  readonly what: string;
  readonly sent: number;
  readonly lost: number;
  readonly doubled: number;
  readonly note: string;
}

/** What was put into the cluster. */
export interface Sent {
  readonly folder: string;
  /** Folders of raw files: of the stream, and of the past dates; null: there are none. */
  readonly feed: string;
  readonly past: string | null;
  /** Oldest first; the last one is the newest of the stream. */
  readonly scan_ids: readonly string[];
  /** Key that the state of the service is asked with. */
  readonly key: string;
  readonly told: Told;
  /** Last row of the ledger before the clients asked. */
  readonly charges_before: number;
  readonly places: readonly Place[];
}

/** How long each export is waited for once its turn has come. */
const EXPORT_WITHIN_MS = 20_000;
const SETTLES_WITHIN_MS = 90_000;

/** Compares what the cluster published, charged and delivered with what was put into it and with a run without faults. */
export async function judge(cluster: Cluster, sent: Sent): Promise<Outcome[]> {
  const database = new pg.Client(cluster.database_url);
  await database.connect();
  try {
    const exports = await checkExports(cluster, sent.told);
    await settled(cluster, sent, database);
    // The end of a stream publishes the daily products that were still due.
    for (const stream of cluster.streams) await stream.stop();
    const root = await publishedRoot(cluster, sent);
    const scans = await checkScans(root, sent.scan_ids);
    const rows = await checkRows(root, sent);
    const { charges, lost, doubled, unanswered } = await checkCharges(database, sent.charges_before, sent.told);
    const deliveries = await checkDeliveries(root, sent.places, database, cluster.received);
    return [
      scans,
      rows,
      {
        ...{ what: 'charges', sent: charges, lost, doubled },
        note: `${unanswered} charged, their answer cut off by a kill${goneWith(sent.told.gone)}`,
      },
      {
        what: 'deliveries',
        sent: deliveries.expected,
        lost: deliveries.lost,
        doubled: deliveries.doubled,
        note: `${deliveries.repeated} requests repeated under the same id`,
      },
      exports,
    ];
  } finally {
    await database.end();
  }
}

/** What a database took along that failed over without it. */
function goneWith(gone: Told['gone']): string {
  return gone.size === 0 ? '' : `; ${gone.size} answers gone with the database that failed`;
}

/** Waits until the last scan is published and no event waits for its receiver. */
async function settled(cluster: Cluster, { key, scan_ids }: Sent, database: pg.Client): Promise<void> {
  const last = scan_ids.at(-1) ?? '';
  await until(`scan ${last}`, SETTLES_WITHIN_MS, async () => (await newestScan(cluster, key)) >= last);
  await until('deliveries', SETTLES_WITHIN_MS, async () => {
    const { rows } = await database.query("select 1 from messages where state in ('waiting', 'pending') limit 1");
    return rows.length === 0;
  });
}

/** Brings everything that is published into a folder, and has it verified. */
async function publishedRoot(cluster: Cluster, { folder }: Sent): Promise<string> {
  const path = join(folder, 'published');
  await mkdir(path);
  await openReplica({ path, store: openObjectStore(cluster.store_address), fence: null }).pull();
  await pipeline({ HAIL_DATA: path }, 'verify');
  return path;
}

async function pipeline(settings: Readonly<Record<string, string>>, ...args: string[]): Promise<void> {
  const { code, told } = await runCommand('hail-pipeline', args, { ...settings, HAIL_LOG_LEVEL: 'error' });
  if (code !== 0) throw new Error(`hail-pipeline ${args.join(' ')} ended with ${code}: ${told.slice(-2_000)}`);
}

/** Scans that the lists of the published dates name, beside those that arrived. */
async function checkScans(root: string, scan_ids: readonly string[]): Promise<Outcome> {
  const dates = await manifestsInForce(root, await readCurrent(root));
  const listed = dates.flatMap(({ scans }) => scans.map(({ scan_id }) => scan_id));
  const known = new Set(listed);
  const lost = scan_ids.filter((scan_id) => !known.has(scan_id)).length;
  return { what: 'scans', sent: scan_ids.length, lost, doubled: listed.length - known.size, note: '' };
}

/** Rows of every table beside those of one process that read the same files in order. */
async function checkRows(root: string, { folder, feed, past }: Sent): Promise<Outcome> {
  const expected_root = join(folder, 'expected');
  const settings = { HAIL_DATA: expected_root };
  for (const from of past === null ? [feed] : [past, feed])
    await pipeline(settings, 'ingest', '--source', 'dir', '--from', from);
  const [found, expected] = [await logicalContent(root), await logicalContent(expected_root)];
  const missing = differences(expected, found);
  const added = differences(found, expected);
  const note = [...new Set([...missing.parts, ...added.parts])].join(', ');
  const sent = Object.values(expected).reduce((sum, lines) => sum + lines.length, 0);
  return { what: 'published rows', sent, lost: missing.lines, doubled: added.lines, note };
}

/** Lines of one content that another does not have, and the parts that they belong to. */
function differences(of: Content, beside: Content): { readonly lines: number; readonly parts: readonly string[] } {
  const missing = Object.entries(of).map(([part, lines]) => {
    const there = new Set(beside[part] ?? []);
    return { part, lines: lines.filter((line) => !there.has(line)).length };
  });
  const unequal = missing.filter(({ lines }) => lines > 0);
  return { lines: unequal.reduce((sum, { lines }) => sum + lines, 0), parts: unequal.map(({ part }) => part) };
}

/** Exports that were accepted: each is done, and its file can be loaded. */
async function checkExports(cluster: Cluster, { exports, gone }: Told): Promise<Outcome> {
  let lost = 0;
  for (const { key, job_id } of exports.filter((each) => !gone.has(each.job_id))) {
    const until_ms = performance.now() + EXPORT_WITHIN_MS;
    let isLoaded = await canBeLoaded(cluster, key, job_id);
    while (!isLoaded && performance.now() < until_ms) {
      await sleep(300);
      isLoaded = await canBeLoaded(cluster, key, job_id);
    }
    if (!isLoaded) lost += 1;
  }
  const doubled = exports.length - new Set(exports.map(({ job_id }) => job_id)).size;
  return { what: 'exports', sent: exports.length, lost, doubled, note: '' };
}

async function canBeLoaded(cluster: Cluster, key: string, job_id: string): Promise<boolean> {
  try {
    const response = await fetch(`${cluster.url}/v1/exports/${job_id}`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    if (!response.ok) return false;
    const { download_url } = (await response.json()) as { download_url: string | null };
    if (download_url === null) return false;
    const file = await fetch(download_url);
    await file.arrayBuffer();
    return file.ok;
  } catch {
    return false; // the proxy closed a connection that was kept open: asked again
  }
}
