import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import type { InputVersions, Manifest } from '../../schemas/manifest.ts';
import { blockage, climatology } from '../../schemas/tables/derived.ts';
import { spcOutlooks } from '../../schemas/tables/feeds.ts';
import { forecast, outlook } from '../../schemas/tables/forecast.ts';
import { readHead } from './manifests.ts';

/** A published table and the partition whose manifest lists its files. */
interface Place {
  readonly partition: string;
  readonly table: Table;
}

const BLOCKAGE: Place = { partition: layout.staticPartition, table: blockage };
const CLIMATOLOGY: Place = { partition: layout.staticPartition, table: climatology };
const SPC_OUTLOOKS: Place = { partition: layout.collectionPartition('outlooks'), table: spcOutlooks };
const FORECAST: Place = { partition: layout.collectionPartition('forecast'), table: forecast };
const OUTLOOK: Place = { partition: layout.collectionPartition('outlook'), table: outlook };

/**
 * Tables that are made from other published tables. `first_of`: inputs of which one is enough for a first version. The
 * climatology is made again after a week of closed storm dates, which are no input here.
 */
const MADE = {
  climatology: { place: CLIMATOLOGY, inputs: [BLOCKAGE], first_of: [] },
  outlook: { place: OUTLOOK, inputs: [SPC_OUTLOOKS, FORECAST, CLIMATOLOGY], first_of: [SPC_OUTLOOKS, FORECAST] },
} as const;
type MadeTable = keyof typeof MADE;

type HeadOf = (partition: string) => Pick<Manifest, 'table_commits' | 'made_from'> | null;

/** Commits that last changed the inputs of a table; 0 for an input that is not published. */
export async function readInputVersions(dataRoot: string, name: MadeTable): Promise<InputVersions> {
  return versionsIn(await readHeads(dataRoot), MADE[name].inputs);
}

/** `outdatedTables` of a data root. */
export async function readOutdated(dataRoot: string) {
  return outdatedTables(await readHeads(dataRoot));
}

/** Tables of which an input changed since they were made, with the path of their manifest and the reason. */
export function outdatedTables(headOf: HeadOf): { table: MadeTable; path: string; reason: string }[] {
  return (Object.keys(MADE) as MadeTable[]).flatMap((table) => {
    const reason = whyOutdated(headOf, table);
    return reason === null ? [] : [{ table, path: layout.head(MADE[table].place.partition), reason }];
  });
}

function whyOutdated(headOf: HeadOf, name: MadeTable): string | null {
  const { place, inputs, first_of } = MADE[name];
  if (versionOf(headOf, place) === 0) {
    const first = first_of.find((input) => versionOf(headOf, input) > 0);
    return first === undefined ? null : `has no table ${name}, expected it made from ${first.table.name}`;
  }
  const made_from = headOf(place.partition)?.made_from?.[name];
  const versions = versionsIn(headOf, inputs);
  const changed = Object.keys(versions).find(
    (input) => made_from !== undefined && made_from[input] !== versions[input],
  );
  return changed === undefined
    ? null
    : `table ${name} was made from commit ${made_from?.[changed] ?? 0} of ${changed}, expected ${versions[changed]}`;
}

function versionsIn(headOf: HeadOf, inputs: readonly Place[]): InputVersions {
  return Object.fromEntries(inputs.map((input) => [input.table.name, versionOf(headOf, input)]));
}

function versionOf(headOf: HeadOf, { partition, table }: Place): number {
  return headOf(partition)?.table_commits[table.name] ?? 0;
}

async function readHeads(dataRoot: string): Promise<HeadOf> {
  const partitions = [CLIMATOLOGY, SPC_OUTLOOKS, FORECAST, OUTLOOK].map(({ partition }) => partition);
  const heads = new Map(
    await Promise.all(partitions.map(async (one) => [one, await readHead(dataRoot, one)] as const)),
  );
  return (partition) => heads.get(partition) ?? null;
}
