import { enclosing } from '../../schemas/geo/position.ts';
import { ATTRIBUTIONS, combineProvenances, type MixedProvenance } from '../../schemas/provenance.ts';
import { timestamp } from '../../schemas/time.ts';
import { STAC_COLLECTIONS, type StacCollection } from './stac-collections.ts';
import {
  FILE_EXTENSION,
  link,
  PROJECTION_EXTENSION,
  STAC_VERSION,
  type StacEntry,
  type StacFolder,
  TABLE_EXTENSION,
} from './stac-items.ts';

/** Where NOAA says that its data are in the public domain. */
const NOAA_TERMS = 'https://www.weather.gov/disclaimer';

/** The catalogue that everything hangs from, `catalog.json`. */
export function rootFile(entries: readonly StacEntry[]): object {
  const filled = STAC_COLLECTIONS.filter(({ id }) => entries.some(({ collection }) => collection === id));
  const provenance = combineProvenances(entries.map((entry) => entry.provenance)) ?? 'observed';
  return {
    type: 'Catalog',
    stac_version: STAC_VERSION,
    id: 'hail',
    title: 'Hail',
    description: `Published files of a hail service: tables (Parquet) and map tiles (PMTiles), by storm date. ${provenanceWords(provenance)}`,
    links: [
      link('root', './catalog.json'),
      ...filled.map(({ id, title }) => link('child', `./${id}/collection.json`, title)),
    ],
  };
}

/** The catalogue of one year of a collection; null without items. */
export function yearFile({ collection, year }: StacFolder, entries: readonly StacEntry[]): object | null {
  if (entries.length === 0) return null;
  const title = `${STAC_COLLECTIONS.find(({ id }) => id === collection)?.title ?? collection}, ${year}`;
  return {
    type: 'Catalog',
    stac_version: STAC_VERSION,
    id: `${collection}-${year}`,
    title,
    description: `${title}: one item for each storm date.`,
    links: [
      link('root', '../../catalog.json'),
      link('parent', '../collection.json'),
      ...entries.toSorted(byId).map(({ id, title: words }) => link('item', `./${id}.json`, words)),
    ],
  };
}

/** A collection with the extent of its items; null without any. */
export function collectionFile(
  { id, title, description, by_year, item_assets }: StacCollection,
  entries: readonly StacEntry[],
): object | null {
  const provenance = combineProvenances(entries.map((entry) => entry.provenance));
  if (provenance === null) return null;
  const starts = entries.map(({ start_ms }) => start_ms);
  const ends = entries.map(({ end_ms }) => end_ms);
  const below = by_year
    ? [...new Set(entries.map(({ year }) => year))]
        .sort()
        .map((year) => link('child', `./${year}/catalog.json`, `${title}, ${year}`))
    : entries.toSorted(byId).map((entry) => link('item', `./${entry.id}.json`, entry.title));
  return {
    type: 'Collection',
    stac_version: STAC_VERSION,
    stac_extensions: [TABLE_EXTENSION, PROJECTION_EXTENSION, FILE_EXTENSION],
    id,
    title,
    description: `${description} ${provenanceWords(provenance)}`,
    license: 'other',
    providers: providersOf(provenance),
    extent: {
      spatial: { bbox: [enclosing(entries.map(({ bbox }) => bbox))] },
      temporal: { interval: [[timestamp(starts.reduce(smaller)), timestamp(ends.reduce(larger))]] },
    },
    summaries: {
      'proj:code': ['EPSG:4326'],
      'hail:source': [...new Set(entries.map((entry) => entry.provenance))].sort(),
    },
    ...(Object.keys(item_assets).length === 0 ? {} : { item_assets }),
    links: [
      link('root', '../catalog.json'),
      link('parent', '../catalog.json'),
      { rel: 'license', href: NOAA_TERMS, type: 'text/html', title: 'Observed data: public domain, by NOAA' },
      ...below,
    ],
  };
}

function provenanceWords(provenance: MixedProvenance): string {
  if (provenance === 'observed') return `Source: ${ATTRIBUTIONS.observed}.`;
  const words = provenance === 'simulated' ? 'All of it is' : 'A part of it is';
  return `${words} simulated, not observed: \`hail:source\` of an item says which.`;
}

function providersOf(provenance: MixedProvenance): object[] {
  const hail = { name: 'hail', description: 'Derives and publishes these files.', roles: ['processor', 'host'] };
  if (provenance === 'simulated') return [{ ...hail, roles: ['producer', ...hail.roles] }];
  return [{ name: 'NOAA', url: 'https://www.noaa.gov', roles: ['producer', 'licensor'] }, hail];
}

function byId(a: StacEntry, b: StacEntry): number {
  return a.id < b.id ? -1 : 1;
}

/** Collections may have more items than a call has arguments. */
function smaller(a: number, b: number): number {
  return Math.min(a, b);
}

function larger(a: number, b: number): number {
  return Math.max(a, b);
}
