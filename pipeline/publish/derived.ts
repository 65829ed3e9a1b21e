import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import type { InputVersions, Manifest } from '../../schemas/manifest.ts';
import { blockage, climatology } from '../../schemas/tables/derived.ts';
import { spcOutlooks } from '../../schemas/tables/feeds.ts';
import { forecast, outlook } from '../../schemas/tables/forecast.ts';
import { readHead } from './manifests.ts';

/** A published table and the partition whose manifest names its files. */
interface TablePlace {
  readonly partition: string;
  readonly table: Table;
}

/** A table that is made from other published tables. */
export interface DerivedTable extends TablePlace {
  readonly inputs: readonly TablePlace[];
  /** Inputs of which one suffices for a first table; when empty, the command that owns the table decides when to make it. */
  readonly made_with: readonly TablePlace[];
  /** Input that is made again with it, to agree with it: one of an earlier version of its schema may not. */
  readonly agrees_with?: TablePlace;
}

const CLIMATOLOGY: TablePlace = { partition: layout.staticPartition, table: climatology };
const FORECAST: TablePlace = { partition: layout.collectionPartition('forecast'), table: forecast };
const SPC_OUTLOOKS: TablePlace = { partition: layout.collectionPartition('outlooks'), table: spcOutlooks };

/** The storm dates are no input here: the climatology is made again after a week of new dates, see `refreshClimatology`. */
export const DERIVED_CLIMATOLOGY: DerivedTable = {
  ...CLIMATOLOGY,
  inputs: [{ partition: layout.staticPartition, table: blockage }],
  made_with: [],
};
export const DERIVED_OUTLOOK: DerivedTable = {
  partition: layout.collectionPartition('outlook'),
  table: outlook,
  inputs: [SPC_OUTLOOKS, FORECAST, CLIMATOLOGY],
  made_with: [SPC_OUTLOOKS, FORECAST],
  agrees_with: FORECAST,
};
/** Derived tables, each after its inputs. */
const DERIVED_TABLES: readonly DerivedTable[] = [DERIVED_CLIMATOLOGY, DERIVED_OUTLOOK];

/** Versions of the tables of a manifest, of the tables that they were made from, and of the schemas of their files. */
type Versions = Pick<Manifest, 'table_commits' | 'made_from' | 'files'>;
/** Versions of a partition; null when nothing is published for it. */
type HeadOf = (partition: string) => Versions | null;

/** Published versions of the inputs of a table: the commit that last changed each, 0 for none. */
export async function readInputVersions(dataRoot: string, { inputs }: DerivedTable): Promise<InputVersions> {
  return versionsIn(await headsOf(dataRoot, inputs), inputs);
}

/**
 * Why a published table is outdated; null when its inputs are the published ones. A table that states no inputs is outdated, and
 * so is one that must agree with a table whose published version is older than its schema.
 */
export async function readOutdated(dataRoot: string, derived: DerivedTable): Promise<string | null> {
  const headOf = await headsOf(dataRoot, [derived, ...derived.inputs]);
  const { partition, table, agrees_with } = derived;
  const head = headOf(partition);
  if (versionOf(head, table) > 0 && head?.made_from?.[table.name] === undefined)
    return 'does not say what it was made from';
  return outdated(headOf, derived) ?? (agrees_with === undefined ? null : earlierVersion(headOf, agrees_with));
}

/** How the files of a table are older than its schema; null when they are not. */
function earlierVersion(headOf: HeadOf, { partition, table: { name, schema_version } }: TablePlace): string | null {
  const older = headOf(partition)?.files.find((file) => file.table === name && file.schema_version < schema_version);
  return older === undefined
    ? null
    : `must agree with ${name} of version ${older.schema_version}, expected ${schema_version}`;
}

/** Outdated tables, with the path of their manifest and the reason; without tables that state no inputs. */
export function outdatedTables(headOf: HeadOf): { readonly path: string; readonly reason: string }[] {
  return DERIVED_TABLES.flatMap((derived) => {
    const reason = outdated(headOf, derived);
    return reason === null ? [] : [{ path: layout.head(derived.partition), reason }];
  });
}

function outdated(headOf: HeadOf, { partition, table, inputs, made_with }: DerivedTable): string | null {
  const head = headOf(partition);
  const versions = versionsIn(headOf, inputs);
  if (versionOf(head, table) === 0) {
    const first = made_with.find((input) => versionOf(headOf(input.partition), input.table) > 0);
    return first === undefined ? null : `has no table ${table.name}, expected it made from ${first.table.name}`;
  }
  const made_from = head?.made_from?.[table.name];
  if (made_from === undefined) return null;
  const name = Object.keys(versions).find((input) => made_from[input] !== versions[input]);
  return name === undefined
    ? null
    : `table ${table.name} was made from commit ${made_from[name] ?? 0} of ${name}, expected ${versions[name]}`;
}

function versionsIn(headOf: HeadOf, inputs: readonly TablePlace[]): InputVersions {
  return Object.fromEntries(inputs.map(({ partition, table }) => [table.name, versionOf(headOf(partition), table)]));
}

function versionOf(head: Versions | null, { name }: Table): number {
  return head?.table_commits[name] ?? 0;
}

async function headsOf(dataRoot: string, places: readonly TablePlace[]): Promise<HeadOf> {
  const heads = new Map<string, Versions | null>();
  for (const partition of new Set(places.map((place) => place.partition)))
    heads.set(partition, await readHead(dataRoot, partition));
  return (partition) => heads.get(partition) ?? null;
}
