import { scanId } from '../../schemas/time.ts';
import { sha256 } from '../files.ts';
import { COMPANION_PRODUCTS, COMPANIONS, type Companion } from '../grid.ts';
import {
  MAX_COMPANION_AGE_MS,
  MAX_PROBSEVERE_AGE_MS,
  PROBSEVERE_PRODUCT,
  SCAN_PRODUCT,
  type SourceFile,
} from './names.ts';

/** One scan and every raw file it is made from. */
export interface ScanPlan {
  readonly scan_id: string;
  /** Epoch milliseconds. */
  readonly scan_time: number;
  readonly mesh: SourceFile;
  readonly companions: Readonly<Partial<Record<Companion, SourceFile>>>;
  readonly probsevere: SourceFile | null;
  /** The ProbSevere file before that one, at most 5 minutes older: it shows which objects were only carried over. */
  readonly previous_probsevere: SourceFile | null;
  /** 16 hex digits: hash of the names and sizes of all inputs. */
  readonly inputs: string;
}

interface ScanPlans {
  /** By time. */
  readonly scans: readonly ScanPlan[];
  /** Valid files that no scan takes (companions without a scan, MESH_Max …): archived and reported. */
  readonly unused: readonly SourceFile[];
  /** Duplicates: unused files with the product and time of a used one, and the same content as far as it was hashed. */
  readonly duplicates: readonly SourceFile[];
  /** Further files of a product and time whose content differs from that of the file that was taken. */
  readonly contradicting: readonly { readonly file: SourceFile; readonly taken: SourceFile }[];
}

/**
 * Scans that can be made from these files: one scan per MESH file with its companions, the newest of each product
 * that is not after the scan and at most 150 s older (ProbSevere: 5 min). A pure function of the set of files.
 * Of several files of one product and second a correction goes first, then the archived file of its name, then the largest,
 * then the first by name, content, key and location.
 */
export function planScans(files: readonly SourceFile[]): ScanPlans {
  const { kept, duplicates, contradicting } = withoutDuplicates(files);
  const byProduct = Map.groupBy(kept, (file) => file.product);
  const scans = (byProduct.get(SCAN_PRODUCT) ?? []).map((mesh) => planScan(mesh, byProduct));
  const used = new Set(scans.flatMap(filesOf));
  return { scans, unused: kept.filter((file) => !used.has(file)), duplicates, contradicting };
}

/** Plan of the scan at an instant; null without a MESH file of that time. */
export function planScanAt(files: Iterable<SourceFile>, scan_time: number): ScanPlan | null {
  const isNear = ({ time_ms }: SourceFile) => time_ms <= scan_time && time_ms >= scan_time - 2 * MAX_PROBSEVERE_AGE_MS;
  return planScans([...files].filter(isNear)).scans.find((scan) => scan.scan_time === scan_time) ?? null;
}

/** Every raw file of a scan, MESH first. */
export function filesOf(scan: Omit<ScanPlan, 'inputs'>): SourceFile[] {
  return roles(scan).map(([, file]) => file);
}

function withoutDuplicates(files: readonly SourceFile[]) {
  const kept: SourceFile[] = [];
  const duplicates: SourceFile[] = [];
  const contradicting: { file: SourceFile; taken: SourceFile }[] = [];
  const places = new Set<string>();
  for (const file of files.toSorted(preferred)) {
    if (places.has(file.location)) continue;
    places.add(file.location);
    const before = kept.at(-1);
    if (before?.time_ms !== file.time_ms || before.product !== file.product) kept.push(file);
    else if (before.sha256 === undefined || file.sha256 === undefined || before.sha256 === file.sha256)
      duplicates.push(file);
    else contradicting.push({ file, taken: before });
  }
  return { kept, duplicates, contradicting };
}

function preferred(a: SourceFile, b: SourceFile): number {
  return (
    a.time_ms - b.time_ms ||
    textOrder(a.product, b.product) ||
    (b.precedence ?? 0) - (a.precedence ?? 0) ||
    b.bytes - a.bytes ||
    textOrder(a.name, b.name) ||
    textOrder(a.sha256 ?? '', b.sha256 ?? '') ||
    textOrder(a.key, b.key) ||
    textOrder(a.location, b.location)
  );
}

function textOrder(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function planScan(mesh: SourceFile, byProduct: ReadonlyMap<string, readonly SourceFile[]>): ScanPlan {
  const newest = (product: string, time_ms: number, age_ms: number) =>
    newestWithin(byProduct.get(product) ?? [], time_ms - age_ms, time_ms);
  const companions: Partial<Record<Companion, SourceFile>> = {};
  for (const companion of COMPANIONS) {
    const file = newest(COMPANION_PRODUCTS[companion], mesh.time_ms, MAX_COMPANION_AGE_MS);
    if (file) companions[companion] = file;
  }
  const probsevere = newest(PROBSEVERE_PRODUCT, mesh.time_ms, MAX_PROBSEVERE_AGE_MS);
  const previous_probsevere =
    probsevere && newest(PROBSEVERE_PRODUCT, probsevere.time_ms - 1, MAX_PROBSEVERE_AGE_MS - 1);
  const scan_time = mesh.time_ms;
  const scan = { scan_id: scanId(scan_time), scan_time, mesh, companions, probsevere, previous_probsevere };
  return { ...scan, inputs: inputsHash(...roles(scan)) };
}

/** Last of the files (by time) with first_ms <= time <= last_ms, or null. */
function newestWithin(files: readonly SourceFile[], first_ms: number, last_ms: number): SourceFile | null {
  let low = 0;
  let high = files.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((files[middle] as SourceFile).time_ms <= last_ms) low = middle + 1;
    else high = middle;
  }
  const file = files[low - 1];
  return file && file.time_ms >= first_ms ? file : null;
}

function roles(scan: Omit<ScanPlan, 'inputs'>): [string, SourceFile][] {
  const all: [string, SourceFile | null | undefined][] = [
    ['mesh', scan.mesh],
    ...COMPANIONS.map((companion): [string, SourceFile | undefined] => [companion, scan.companions[companion]]),
    ['probsevere', scan.probsevere],
    ['previous_probsevere', scan.previous_probsevere],
  ];
  return all.filter((role): role is [string, SourceFile] => Boolean(role[1]));
}

/** 16 hex digits: hash of the names and sizes of files in their roles. */
export function inputsHash(...files: readonly (readonly [string, SourceFile])[]): string {
  const lines = files.map(([role, { name, bytes }]) => `${role}\t${name}\t${bytes}\n`);
  return sha256(lines.join('')).slice(0, 16);
}
