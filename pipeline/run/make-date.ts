import type { Manifest, PublishedFile } from '../../schemas/manifest.ts';
import { addDays, MS_PER_HOUR, scanTime, stormDate } from '../../schemas/time.ts';
import type { MadeDate } from '../cluster/date-tasks.ts';
import type { Config } from '../config.ts';
import { Conflict, PipelineError } from '../error.ts';
import type { Log } from '../log.ts';
import { openRoot } from '../publish/root.ts';
import type { RootReplica } from '../publish/root-replica.ts';
import type { ReadPool } from '../scans/read-ahead.ts';
import { openSession } from '../scans/session.ts';
import { decodeTrackingState, TRACKING_MAX_GAP_MS } from '../scans/tracking-state.ts';
import { planScans } from '../sources/plan.ts';
import { type BackfillSource, listStormDate } from './storm-date-files.ts';

/**
 * Where the checkpoint of the date before is not there yet, scans from this long before a date are made first. Tracks that are
 * older at its beginning are rare, so that its tracks mostly turn out to be those of the finished date before.
 */
const LEAD_MS = 2 * MS_PER_HOUR;

/** Published data of neighbouring dates that a date is made from and compared with. */
export interface Surroundings {
  /** Newest manifest of the date; null when nothing is published for it. */
  readonly published: Manifest | null;
  /** Checkpoint after the last published scan of the date before; null when there is none. */
  readonly before: Checkpoint | null;
}

export interface Checkpoint {
  readonly scan_time: number;
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

export interface MakeRequest {
  readonly storm_date: string;
  readonly source: BackfillSource;
  readonly surroundings: Surroundings;
  /** Empty data root that the date is made in. */
  readonly scratch: string;
  /** Carries the fence of the lease on the date. */
  readonly replica: RootReplica;
  readonly readers: ReadPool;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Makes and closes a storm date in a root of its own. Throws Conflict where published data would be lost. */
export async function makeDate(config: Config, request: MakeRequest): Promise<MadeDate> {
  const { storm_date, source, surroundings, scratch, replica, readers, log, signal } = request;
  const { published, before } = surroundings;
  const begun_ms = performance.now();
  const { storm_day_start_hour: hour, now } = config;
  const own = { ...config, data_root: scratch };
  const root = await openRoot(scratch, 'hail-pipeline work', hour, now(), { lattice: config.lattice, log, replica });
  try {
    const listed = await listStormDate(own, source, storm_date, root.lattice, before === null ? LEAD_MS : 0);
    const planned = planScans(listed.files).scans.filter(({ scan_time }) => stormDate(scan_time, hour) === storm_date);
    refuseLoss(storm_date, published, new Set(planned.map(({ scan_id }) => scan_id)));
    const session = openSession(root, readers, {
      ...{ storm_day_start_hour: hour, now, log, move_raw: source.kind === 'noaa', each_scan: false, signal },
      ...{ raw_keep_days: null, reflectivity_keep_hours: config.reflectivity_keep_hours },
      ...(before === null ? {} : { tracking_before: decodeTrackingState(before.bytes) }),
    });
    const { files, missing, unreadable } =
      planned.length === 0 ? { files: [], missing: [], unreadable: [] } : await listed.gather(root, log);
    const run = await session.ingest(files);
    signal.throwIfAborted();
    if (root.heads.has(storm_date)) await session.closeDate(storm_date);
    const manifest = await root.manifest(storm_date);
    refuseLoss(storm_date, published, new Set(manifest?.scans.map(({ scan_id }) => scan_id)));
    refuseOther(storm_date, published, manifest);
    const lead = before ?? lastCheckpoint(await root.manifest(addDays(storm_date, -1)));
    const last = lastCheckpoint(manifest);
    const first = manifest?.scans[0]?.scan_id;
    const follows_from_ms = first === undefined ? null : scanTime(first) - TRACKING_MAX_GAP_MS;
    const is_joined = lead !== null && follows_from_ms !== null && lead.scan_time >= follows_from_ms;
    return {
      scans: manifest?.scans.length ?? 0,
      seconds: Math.round((performance.now() - begun_ms) / 100) / 10,
      rejected: run.rejected.length,
      missing: missing.length + unreadable.length + run.postponed.length,
      made_from: is_joined ? lead.sha256 : null,
      left_as: last?.sha256 ?? null,
      follows_from_ms,
      ends_ms: last?.scan_time ?? null,
    };
  } finally {
    await root.close();
  }
}

/** The checkpoint after the last scan of a date; null without scans. */
export function lastCheckpoint(manifest: Manifest | null): (PublishedFile & { readonly scan_time: number }) | null {
  const last = manifest?.scans.at(-1)?.scan_id;
  if (manifest === null || last === undefined) return null;
  const file = manifest.files.find(({ kind, last_scan }) => kind === 'state' && last_scan === last);
  if (file === undefined)
    throw new PipelineError('track', last, 'has no checkpoint in its manifest, expected one after the last scan');
  return { ...file, scan_time: scanTime(last) };
}

/** Refuses to replace a date by one that lacks some of its scans. */
function refuseLoss(storm_date: string, published: Manifest | null, scans: ReadonlySet<string>): void {
  const lost = published?.scans.filter(({ scan_id }) => !scans.has(scan_id)) ?? [];
  if (lost.length === 0) return;
  const found = `holds ${published?.scans.length} scans, of which ${lost.length} (${lost[0]?.scan_id} first)`;
  throw new Conflict('publish', storm_date, `${found} are not in the source, expected all of them; it stays`);
}

/** Refuses to replace observed data by simulated data, or the reverse. */
function refuseOther(storm_date: string, published: Manifest | null, made: Manifest | null): void {
  if (published === null || made === null || published.scans.length === 0 || published.source === made.source) return;
  throw new Conflict('publish', storm_date, `holds ${published.source} data, found ${made.source} data in the source`);
}
