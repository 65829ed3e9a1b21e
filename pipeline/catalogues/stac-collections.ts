import { COLLECTIONS, type CollectionName } from '../../schemas/collections.ts';
import { columns, type Table } from '../../schemas/columns.ts';
import { COLLECTION_TABLES, DAY_TABLES, SCAN_TABLES, STATIC_TABLES } from '../../schemas/tables/index.ts';
import { PARQUET, PMTILES } from './stac-assets.ts';

/** Collection of the tables and the daily archive of each storm date. */
export const HAIL = 'hail';
/** Collection of the archives of single scans. */
export const SCAN_ARCHIVES = 'hail-tiles';
/** Collection of the months of closed dates. */
export const MONTHS = 'hail-months';
/** Collection of the tables without a date. */
export const UNDATED = 'undated';

/** What one collection of the catalogue holds. */
export interface StacCollection {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** True when a catalogue for each year stands between the collection and its items. */
  readonly by_year: boolean;
  /** What the items of the collection have in common, by key of the asset. */
  readonly item_assets: Readonly<Record<string, object>>;
}

const TEXTS: Readonly<
  Record<CollectionName, readonly [title: string, description: string, tables: readonly string[]]>
> = {
  reports: [
    'Reports from the ground',
    'Reports of hail by people on the ground, one item for each UTC month. The item `reports-collected` lists the times for which each source was asked.',
    ['ground-reports', 'collected-reports'],
  ],
  warnings: [
    'Warnings',
    'Warnings of the National Weather Service for storms with hail, one item for each UTC month.',
    ['warnings'],
  ],
  watches: ['Watches', 'Watches of the Storm Prediction Center, one item for each UTC month.', ['watches']],
  outlooks: [
    'Convective outlooks',
    'Convective outlooks of the Storm Prediction Center, one item for each UTC month.',
    ['spc-outlooks'],
  ],
  forecast: ['Hourly forecast', 'The newest hourly hail forecast, made from a weather model.', ['forecast']],
  outlook: ['Outlook of the next days', 'The newest outlook of the next days for each place.', ['outlook']],
};

function tableAssets(tables: readonly Table[]): StacCollection['item_assets'] {
  return Object.fromEntries(
    tables.map((table) => [
      table.name,
      { title: table.name, type: PARQUET, roles: ['data'], 'table:columns': columnsOf(table) },
    ]),
  );
}

/** Columns in the words of the table extension; instants are told by their type alone. */
function columnsOf(table: Table): object[] {
  return columns(table).map(({ name, type, description, unit, nullable }) => ({
    name,
    type: type.toLowerCase(),
    description: nullable ? `${description} May be null.` : description,
    ...(unit === null || unit === '1' || type === 'TIMESTAMP' ? {} : { unit }),
  }));
}

/** The collections that the catalogue may have, in its order; one without items is left out. */
export const STAC_COLLECTIONS: readonly StacCollection[] = [
  {
    id: HAIL,
    title: 'Hail by storm date',
    description:
      'Tables and daily map tiles of each storm date: detections, storm cells, tracks, the largest hail of each pixel, swaths. The box of an item is the box around its rows; of a date without any, the whole lattice.',
    by_year: true,
    item_assets: {
      ...tableAssets([...SCAN_TABLES, ...DAY_TABLES]),
      daily: { title: 'Map tiles of the whole date', type: PMTILES, roles: ['visual'] },
    },
  },
  {
    id: SCAN_ARCHIVES,
    title: 'Map tiles by scan',
    description:
      'Map tiles of every scan of a storm date, and those of the reflectivity of recent scans: one archive for each scan.',
    by_year: true,
    item_assets: {},
  },
  {
    id: MONTHS,
    title: 'Hail by month',
    description:
      'The largest hail of each pixel and date of a month, once more, in a file for each 5° by 5° with hail: the shortest way to the history of a place. A date that changed later is newer in the collection of storm dates.',
    by_year: false,
    item_assets: tableAssets(SCAN_TABLES.filter(({ name }) => name === 'day-max')),
  },
  ...COLLECTIONS.map((name) => {
    const [title, description, tables] = TEXTS[name];
    const item_assets = tableAssets(COLLECTION_TABLES.filter((table) => tables.includes(table.name)));
    return { id: name, title, description, by_year: false, item_assets };
  }),
  {
    id: UNDATED,
    title: 'Tables without a date',
    description: 'The climatology of hail, and how terrain blocks the view of the radars.',
    by_year: false,
    item_assets: tableAssets(STATIC_TABLES),
  },
];
