import { type ClimatologyReport, publishClimatology } from '../../../pipeline/forecast/climatology.ts';
import { silent } from '../../../pipeline/log.ts';
import { readInputVersions } from '../../../pipeline/publish/inputs.ts';
import type { Root } from '../../../pipeline/publish/root.ts';
import { publishUndated } from '../../../pipeline/publish/undated.ts';
import type { PublishedFile } from '../../../schemas/manifest.ts';
import type { Provenance } from '../../../schemas/provenance.ts';
import { MONTHS } from '../../../schemas/risk.ts';
import { type ClimatologyCell, climatology } from '../../../schemas/tables/derived.ts';
import { NOW_MS, onRoot } from './world.ts';

/** When the data of a made-up climatology were published. */
const CLIMATOLOGY_AS_OF_MS = Date.parse('2026-05-01T21:30:00Z');

const everyMonth = <Name extends string>(name: Name, values: readonly number[]) =>
  Object.fromEntries(MONTHS.map((month, index) => [`${name}_${month}`, values[index]])) as Record<
    `${Name}_${(typeof MONTHS)[number]}`,
    number
  >;

/** A row of the climatology, of Norman, Oklahoma, that nothing but the given fields tells apart. */
export function climatologyRow(fields: Partial<ClimatologyCell> = {}): ClimatologyCell {
  return {
    geohash4: '9y68',
    lat: 35.244140625,
    lon: -97.55859375,
    annual_any: 0.95231128,
    annual_severe: 0.6892917,
    annual_significant: 0.14249,
    annual_giant: 0.00851,
    annual_score: 91,
    risk_tier: 'very_high',
    peak_month: 5,
    years_of_data: 5,
    prior_share: 0.0214,
    storm_dates: 1826,
    first_date: '2021-05-02',
    last_date: '2026-05-01',
    data_as_of: CLIMATOLOGY_AS_OF_MS,
    data_source: 'observed',
    ...everyMonth('any', [0.006, 0.021, 0.148, 0.412, 0.566, 0.498, 0.317, 0.214, 0.101, 0.044, 0.02, 0.0074]),
    ...everyMonth('severe', [0.002, 0.008, 0.06, 0.188, 0.284, 0.231, 0.131, 0.083, 0.039, 0.016, 0.007, 0.0024]),
    ...everyMonth('score', [6, 22, 58, 82, 93, 89, 75, 66, 49, 33, 21, 7]),
    ...fields,
  };
}

/** Publishes rows as the climatology of a data root, made from what the root holds. */
export function publishClimatologyRows(
  path: string,
  rows: readonly ClimatologyCell[],
  provenance: Provenance = 'observed',
): Promise<{ readonly file: PublishedFile }> {
  return onRoot(path, {}, async ({ root }) => {
    const made_from = await readInputVersions(path, 'climatology');
    const segment = { segment: climatology.name, table: climatology, rows, provenance, made_from };
    const [{ files }] = await publishUndated(root, [{ name: 'static', segments: [segment] }], NOW_MS);
    return { file: files[0] as PublishedFile };
  });
}

/** Publishes the climatology of every date of a root, open ones too. */
export function publishWholeClimatology(root: Root, now_ms: number): Promise<ClimatologyReport> {
  const heads = [...root.heads.values()].sort((a, b) => (a.partition < b.partition ? -1 : 1));
  const [first, last] = [heads[0], heads.at(-1)];
  if (first === undefined || last === undefined) throw new Error('no date is published');
  const dates = { provenance: 'simulated', first_date: first.partition, last_date: last.partition, heads } as const;
  return publishClimatology(root, dates, now_ms, silent);
}
