import type { FeedFile } from '../../../pipeline/feeds/define-feed.ts';

/** A row of a daily list of the Storm Prediction Center. */
export interface ListedReport {
  /** `HHMM` UTC; before 1200 it belongs to the day after that of the file. */
  readonly time: string;
  readonly inches: number;
  readonly lat: number;
  readonly lon: number;
  /** `SIM` is the office of the simulator. */
  readonly office?: string;
}

/** A daily list of hail reports; the convective date is that of its name. */
export function reportList(date: string, reports: readonly ListedReport[], received_ms: number): FeedFile {
  const lines = reports.map(
    ({ time, inches, lat, lon, office = 'SIM' }) =>
      `${time},${Math.round(inches * 100)},3 N TOWN,CLEVELAND,OK,${lat.toFixed(4)},${lon.toFixed(4)},SEEN (${office})`,
  );
  const bytes = Buffer.from(['Time,Size,Location,County,State,Lat,Lon,Comments', ...lines, ''].join('\n'));
  return { name: `${date.slice(2).replaceAll('-', '')}_rpts_hail.csv`, bytes, received_ms };
}
