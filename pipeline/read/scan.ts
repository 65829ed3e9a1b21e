import { CELL_GROW_MM, DETECTION_MIN_MM } from '../../schemas/size.ts';
import type { ProbSevereObject } from '../../schemas/tables/radar.ts';
import { stormDate } from '../../schemas/time.ts';
import { BadInput, PROVENANCE_STAGE } from '../error.ts';
import { COMPANION_PRODUCTS, COMPANIONS, type Companion, type Grid, type HailField, type ScanInput } from '../grid.ts';
import { MAX_UNZIPPED_BYTES, readBounded } from '../raw-file.ts';
import { hailField, readGrid, sampleAtPixels } from './mrms.ts';
import { type FileObject, MAX_PROBSEVERE_BYTES, readProbSevere } from './probsevere.ts';
import { badFile } from './rejected-item.ts';
import { uncoveredBlocks } from './uncovered.ts';

/**
 * Most pixels of one scan: a flipped bit or a constant field makes hail of the whole lattice, and rows of each pixel fill
 * gigabytes. A busy scan has a few thousand detections; the maximum of a whole real day (28 Feb 2024) has 231,856
 * pixels above 0, 57,653 from 5 mm and 18,651 from 10 mm on, which is 0.95, 0.24 and 0.08 % of the lattice. The bounds are
 * two to three times that day: 2, 0.6 and 0.2 % of the lattice. On finer lattices as much area has more pixels.
 */
const MAX_ECHO_PX = 490_000;
const MAX_GROWN_PX = 150_000;
const MAX_DETECTION_PX = 50_000;

/** A raw file and the observation time in its name, epoch milliseconds; the header of the file must agree with it. */
interface NamedFile {
  readonly location: string;
  readonly time_ms: number;
}

/** Raw files of one scan. */
export interface ScanFiles {
  /** Epoch milliseconds; the MESH file must carry the same time. */
  readonly scan_time: number;
  /** Path of the MESH file. */
  readonly mesh: string;
  readonly companions: Readonly<Partial<Record<Companion, NamedFile>>>;
  readonly probsevere: NamedFile | null;
  /** The ProbSevere file before that one: objects that it repeats unchanged are stale. */
  readonly previous_probsevere: NamedFile | null;
  /** Hour at which a storm date begins; 0 unless given. */
  readonly storm_day_start_hour?: number;
}

/**
 * Everything the stages need of one scan, from its files.
 *
 * Throws BadInput whose subject is the path of the file that cannot be used: damaged, another product than its role
 * asks for, another time than its name says, simulated mixed with observed data, or more hail than any scan can have. `onCompanion` is
 * called with each companion's grid while it is in memory, and with its path; its errors are passed on.
 */
export async function readScan(
  files: ScanFiles,
  onCompanion: (companion: Companion, grid: Grid, path: string) => void = () => {},
): Promise<ScanInput> {
  const mesh = await readProduct({ location: files.mesh, time_ms: files.scan_time }, 'MESH');
  const field = hailField(mesh, files.mesh, MAX_ECHO_PX);
  rejectTooMuchHail(field, files.mesh);
  const companions: Partial<Record<Companion, Float32Array>> = {};
  const products = [mesh.product];
  for (const companion of COMPANIONS) {
    const file = files.companions[companion];
    if (file === undefined) continue;
    const grid = await readProduct(file, COMPANION_PRODUCTS[companion]);
    rejectMixture(file.location, grid.simulated, mesh.simulated);
    companions[companion] = sampleAtPixels(grid, field);
    onCompanion(companion, grid, file.location);
    products.push(grid.product);
  }
  const probsevere = await readObjects(files, mesh.simulated);
  if (probsevere) products.push('ProbSevere');
  return {
    scan_time: files.scan_time,
    simulated: mesh.simulated,
    mesh: field,
    uncovered: uncoveredBlocks(mesh),
    companions,
    probsevere,
    products,
  };
}

async function readProduct({ location, time_ms }: NamedFile, product: string): Promise<Grid> {
  return readGrid(await readBounded(location, MAX_UNZIPPED_BYTES), location, { product, time_ms });
}

function rejectTooMuchHail({ tenths }: HailField, path: string): void {
  for (const [threshold_mm, most] of [
    [CELL_GROW_MM, MAX_GROWN_PX],
    [DETECTION_MIN_MM, MAX_DETECTION_PX],
  ] as const) {
    let pixels = 0;
    for (const value of tenths) if (value >= threshold_mm * 10) pixels++;
    if (pixels > most)
      throw badFile(path, `${pixels} pixels of ${threshold_mm} mm and more, expected at most ${most} in one scan`);
  }
}

function rejectMixture(path: string, simulated: boolean, expected: boolean): void {
  if (simulated === expected) return;
  const [found, wanted] = simulated ? ['simulated', 'observed'] : ['observed', 'simulated'];
  throw new BadInput(PROVENANCE_STAGE, path, `${found} data, expected ${wanted} data as in the MESH file`);
}

/** Objects of the scan's ProbSevere file, marked stale where polygon and MESH repeat the file before; null without a file. */
async function readObjects(files: ScanFiles, simulated: boolean): Promise<ProbSevereObject[] | null> {
  if (files.probsevere === null) return null;
  const readFile = async ({ location, time_ms }: NamedFile) =>
    readProbSevere(await readBounded(location, MAX_PROBSEVERE_BYTES), location, time_ms);
  const file = await readFile(files.probsevere);
  rejectMixture(files.probsevere.location, file.simulated, simulated);
  const before = files.previous_probsevere === null ? [] : (await readFile(files.previous_probsevere)).objects;
  const appearance = (object: FileObject) => `${object.probsevere_id} ${object.mesh_mm} ${object.geometry}`;
  const seen = new Set(before.map(appearance));
  const storm_date = stormDate(files.scan_time, files.storm_day_start_hour ?? 0);
  return file.objects.map((object) => ({
    ...object,
    storm_date,
    scan_time: files.scan_time,
    flag_stale: seen.has(appearance(object)),
  }));
}
