import type { Feature } from 'geojson';
import { ServiceError } from '../data/service.ts';
import { counted, MM_PER_INCH, timeInWords } from '../page/words.ts';
import { dotMark, hasDates, isInForce, type Reading, type ReadLayer, textMark } from './layer.ts';

const COLOR = '#0b7a4b';
/** The export of a date takes a second or two. */
const POLL_MS = 700;
const POLLS_MAX = 60;
const FEEDS = ['spc-reports', 'lsr', 'reports'];

interface Job {
  readonly status: string;
  readonly message: string | null;
  readonly download_url: string | null;
  readonly truncated: boolean | null;
}

/** A report as the export of the service has it. */
interface Report {
  readonly time: string;
  readonly size_mm: number | null;
  readonly source: string;
  readonly place?: string | null;
  readonly storm_date: string;
}

const wait = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));

/** Reports of hail on the ground, of the whole country: an export of the date that the service makes. */
export const reports: ReadLayer = {
  kind: 'read',
  id: 'reports',
  label: 'Ground reports of hail',
  scope: 'exports:write',
  price: '40 credits',
  only_on_request: true,
  key: [{ color: COLOR, words: 'hail that people reported', shape: 'dot' }],
  fresh_ms: 600_000,
  unavailable({ date, never_collected }) {
    if (date === null) return 'Nothing is published for this date.';
    if (FEEDS.slice(0, 2).every((feed) => never_collected.has(feed)))
      return 'This service has never collected ground reports.';
    return null;
  },
  serves: hasDates,
  async read({ call, file }, { first_date, date }): Promise<Reading> {
    const body = { dataset: 'reports', date_start: first_date, date_end: date, format: 'geojson' };
    const { job_id } = await call('/exports', { body });
    for (let polls = 0; polls < POLLS_MAX; polls++) {
      const job: Job = await call(`/exports/${job_id}`);
      if (job.status === 'failed')
        throw new ServiceError(job.message ?? 'The service could not make the list. Its price was refunded.');
      if (job.download_url !== null) {
        const { features } = (await file(job.download_url)) as { features: Feature[] };
        const note = job.truncated ? 'Some reports are missing: there were more than an export holds.' : null;
        return { features: features.map(timed), note };
      }
      await wait();
    }
    throw new ServiceError('The list of reports was not ready within a minute. Reading again costs again.');
  },
  visible: ({ features }, shown) =>
    shown.view === 'day' && !shown.is_recent
      ? features.filter(({ properties }) => properties?.storm_date === shown.date)
      : features.filter(({ properties }) => isInForce(properties, shown)),
  inWords(visible, { features, note }, { view, is_recent, first_date, date }) {
    const isOfDates = ({ properties }: Feature) =>
      first_date !== null && date !== null && properties?.storm_date >= first_date && properties?.storm_date <= date;
    const count = view === 'day' ? visible.length : features.filter(isOfDates).length;
    const when = is_recent ? 'the last 24 hours' : 'this date';
    const all = count === 0 ? `No report is known for ${when}` : counted(count, 'report');
    const of_dates = first_date === date ? 'on the date' : 'on the two dates';
    const now = view === 'day' ? all : `${visible.length} within 15 minutes of this scan, ${all} ${of_dates}`;
    return [`${now}.`, note].filter(Boolean).join(' ');
  },
  marks: [
    dotMark(COLOR, { 'circle-radius': ['interpolate', ['linear'], ['zoom'], 3, 2.5, 8, 6] }),
    textMark(
      COLOR,
      { 'text-field': ['get', 'label'], 'text-size': 11, 'text-anchor': 'left', 'text-offset': [0.8, 0] },
      { minzoom: 7 },
    ),
  ],
  facts: (properties) => ({
    title: `Reported from the ground: ${properties?.label}`,
    color: COLOR,
    lines: [
      timeInWords(properties?.time),
      properties?.place ?? '',
      properties?.source === 'lsr' ? 'Local storm report' : 'List of the Storm Prediction Center',
      'A report is one observation: larger hail may have fallen near it.',
    ].filter((line) => line !== ''),
  }),
};

const NEAR_MS = 15 * 60_000;

/** A report is shown with the scans within a quarter of an hour of it. */
function timed({ geometry, properties }: Feature): Feature {
  const report = properties as Report;
  const time_ms = Date.parse(report.time);
  const [from, until] = [time_ms - NEAR_MS, time_ms + NEAR_MS].map((ms) => new Date(ms).toISOString());
  const label =
    report.size_mm === null
      ? 'hail'
      : `${(report.size_mm / MM_PER_INCH).toFixed(2)} in (${Math.round(report.size_mm)} mm)`;
  return { type: 'Feature', geometry, properties: { ...report, from, until, label } };
}
