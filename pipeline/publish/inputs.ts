import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import type { InputVersions, Manifest } from '../../schemas/manifest.ts';
import { blockage, climatology, ground } from '../../schemas/tables/derived.ts';
import { spcOutlooks } from '../../schemas/tables/feeds.ts';
import { forecast, outlook } from '../../schemas/tables/forecast.ts';
import { readHead } from './manifests.ts';

/** Published tables that tables are made from. The climatology is made again after a week of closed storm dates, which are no input here. */
const INPUTS = { climatology: [blockage, ground], outlook: [spcOutlooks, forecast, climatology] } as const;
type MadeTable = keyof typeof INPUTS;

/** Partitions whose manifests list the files of these tables. */
const PARTITIONS: ReadonlyMap<string, string> = new Map([
  [blockage.name, layout.staticPartition],
  [ground.name, layout.staticPartition],
  [climatology.name, layout.staticPartition],
  [spcOutlooks.name, layout.collectionPartition('outlooks')],
  [forecast.name, layout.collectionPartition('forecast')],
  [outlook.name, layout.collectionPartition('outlook')],
]);

type HeadOf = (partition: string) => Pick<Manifest, 'table_commits' | 'made_from'> | null;

/** Commits that last changed the inputs of a table; 0 for an input that is not published. */
export async function readInputVersions(dataRoot: string, name: MadeTable): Promise<InputVersions> {
  return versionsIn(await readHeads(dataRoot), INPUTS[name]);
}

/** `outdatedTables` of a data root. */
export async function readOutdated(dataRoot: string) {
  return outdatedTables(await readHeads(dataRoot));
}

/** Tables of which an input changed since they were made, with the path of their manifest and the reason. */
export function outdatedTables(headOf: HeadOf): { table: MadeTable; path: string; reason: string }[] {
  return (Object.keys(INPUTS) as MadeTable[]).flatMap((table) => {
    const partition = PARTITIONS.get(table) as string;
    const reason = whyOutdated(headOf, table, headOf(partition));
    return reason === null ? [] : [{ table, path: layout.head(partition), reason }];
  });
}

function whyOutdated(headOf: HeadOf, name: MadeTable, head: ReturnType<HeadOf>): string | null {
  const versions = versionsIn(headOf, INPUTS[name]);
  if ((head?.table_commits[name] ?? 0) === 0) {
    // Outlooks of the Storm Prediction Center or model hours are enough for a first outlook.
    const first = [spcOutlooks.name, forecast.name].find((input) => (versions[input] ?? 0) > 0);
    return first === undefined ? null : `has no table ${name}, expected it made from ${first}`;
  }
  const made_from = head?.made_from?.[name];
  const changed = Object.keys(versions).find(
    (input) => made_from !== undefined && (made_from[input] ?? 0) !== versions[input],
  );
  return changed === undefined
    ? null
    : `table ${name} was made from commit ${made_from?.[changed] ?? 0} of ${changed}, expected ${versions[changed]}`;
}

function versionsIn(headOf: HeadOf, inputs: readonly Table[]): InputVersions {
  return Object.fromEntries(
    inputs.map(({ name }) => [name, headOf(PARTITIONS.get(name) as string)?.table_commits[name] ?? 0]),
  );
}

async function readHeads(dataRoot: string): Promise<HeadOf> {
  const partitions = [...new Set(PARTITIONS.values())];
  const heads = await Promise.all(partitions.map((partition) => readHead(dataRoot, partition)));
  return (partition) => heads[partitions.indexOf(partition)] ?? null;
}
