import type { PublishedFile } from '../../schemas/manifest.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { type BlockageStep, blockage } from '../../schemas/tables/derived.ts';
import type { Config } from '../config.ts';
import { BadInput, NotFound, PipelineError } from '../error.ts';
import { type ClimatologyReport, publishClimatology } from '../forecast/derive-climatology.ts';
import { datesToCount } from '../forecast/hail-dates.ts';
import type { Log } from '../log.ts';
import { examineRadars } from '../read/beam-blockage.ts';
import { type Dem, openDem } from '../read/dem.ts';
import { refreshDerived } from './refresh-derived.ts';
import { withRoot } from './with-root.ts';

/** Share of the directions in which more than half of the lowest beam is blocked, and of the terrain with unknown height. */
export interface RadarSummary {
  readonly id: string;
  readonly shadowed_pct: number;
  readonly unknown_pct: number;
}

/** Output of `derive blockage --json`. */
export interface BlockageReport {
  readonly terrain: { readonly file: string; readonly step_arcsec: number };
  /** Radars inside the terrain model, in the order of their ids. */
  readonly radars: readonly RadarSummary[];
  readonly radars_outside: number;
  readonly rows: number;
  readonly path: string;
  readonly bytes: number;
  /** False when the same table was already published. */
  readonly changed: boolean;
}

/** Publishes the climatology of all published storm dates, and the tables derived from it. */
export function deriveClimatology(config: Config, log: Log): Promise<ClimatologyReport> {
  return withRoot(
    config,
    'derive',
    async (root) => {
      const dates = datesToCount(root);
      if (dates === null)
        throw new NotFound('derive', root.path, 'holds no storm date, expected some to make a climatology of');
      const report = await publishClimatology(root, dates, config.now(), log);
      await refreshDerived(root, config.now(), log);
      return report;
    },
    log,
  );
}

/**
 * Publishes the terrain blockage of every radar inside a terrain model. `in_metres`: its heights are in metres, although the
 * file does not say so.
 */
export async function deriveBlockage(
  config: Config,
  dem_path: string,
  in_metres: boolean,
  log: Log,
): Promise<BlockageReport> {
  const dem = await openNamed(dem_path, in_metres);
  const published = withRoot(
    config,
    'derive',
    async (root) => {
      const { radars, rows } = await examine(dem, dem_path, log);
      const segment = { segment: blockage.name, table: blockage, rows, provenance: 'observed' } as const;
      const { files, changed } = await root.publishUndated('static', [segment], config.now());
      const file = files[0] as PublishedFile;
      await refreshDerived(root, config.now(), log);
      return {
        terrain: { file: dem.file, step_arcsec: dem.step_arcsec },
        radars,
        radars_outside: WSR88D.length - radars.length,
        rows: file.rows,
        path: file.path,
        bytes: file.bytes,
        changed,
      };
    },
    log,
  );
  return published.finally(dem.close);
}

/** The opened terrain model. Throws PipelineError for errors of the file system. */
async function openNamed(path: string, in_metres: boolean): Promise<Dem> {
  try {
    return await openDem(path, in_metres);
  } catch (cause) {
    if (cause instanceof PipelineError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') throw new NotFound('derive', path, 'no such file', { cause });
    throw new PipelineError('derive', path, `cannot be read (${code})`, { cause });
  }
}

async function examine(
  dem: Dem,
  path: string,
  log: Log,
): Promise<{ readonly radars: readonly RadarSummary[]; readonly rows: readonly BlockageStep[] }> {
  const terrain = { terrain_file: dem.file, terrain_step_arcsec: dem.step_arcsec };
  const radars: RadarSummary[] = [];
  const rows: BlockageStep[] = [];
  const progress = (done: number, total: number) => log.progress('radars', done, total);
  for await (const { id, steps, shadowed_share, unknown_share } of examineRadars(WSR88D, dem, progress)) {
    radars.push({ id, shadowed_pct: percent(shadowed_share), unknown_pct: percent(unknown_share) });
    for (const step of steps) rows.push({ ...step, ...terrain });
  }
  if (radars.length === 0)
    throw new BadInput('derive', path, 'covers no WSR-88D radar, expected a model in which at least one stands');
  return { radars: radars.sort((a, b) => (a.id < b.id ? -1 : 1)), rows };
}

function percent(share: number): number {
  return Math.round(1000 * share) / 10;
}
