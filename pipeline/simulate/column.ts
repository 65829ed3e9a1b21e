import { poshOfShi, shiOfMesh } from '../../schemas/size.ts';

/** Largest MESH of the tables, tenths of a millimetre. */
export const MAX_TENTHS = 1500;
/** Weakest and strongest echo of a column without hail, dBZ. */
export const SKIRT_MIN_DBZ = -10;
export const SKIRT_MAX_DBZ = 50;

/** The -20 C level lies this far above the 0 C level, km: 6.1 C per km. */
const MINUS_20_ABOVE_KM = 3.3;
const STEP_KM = 0.1;
const HIGHEST_KM = 20;
const ECHO_TOP_CAP_M = 19_000;
/** Reflectivity cap of VIL: hail counts as rain of this reflectivity. */
const VIL_CAP_DBZ = 56;
const WEAKEST_CORE_DBZ = 30;
const CORE_STEP_DBZ = 0.1;
const CORE_STEPS = 600;

/** Reflectivity that is constant up to a height and falls above it. */
interface Profile {
  readonly dbz: number;
  /** Top of the constant part, km above the ground. */
  readonly plateau_km: number;
  /** Fall above it, dB per km. */
  readonly slope_db_km: number;
}

/** Reflectivity of a profile at a height, dBZ. */
function dbzAt(profile: Profile, height_km: number): number {
  return profile.dbz - Math.max(0, height_km - profile.plateau_km) * profile.slope_db_km;
}

/**
 * Severe hail index of a profile, J m-1 s-1.
 * Source: Witt et al. 1998: 0.1 x integral of W_T x 5e-6 x 10^(0.084 Z) x W(Z) from the 0 C level up.
 */
function shiOfProfile(profile: Profile, freezing_level_km: number): number {
  let shi = 0;
  for (let height_km = freezing_level_km + STEP_KM / 2; height_km < HIGHEST_KM; height_km += STEP_KM) {
    const dbz = dbzAt(profile, height_km);
    if (dbz <= 40) break;
    const warm = Math.min(1, (height_km - freezing_level_km) / MINUS_20_ABOVE_KM);
    shi += 0.1 * warm * 5e-6 * 10 ** (0.084 * dbz) * Math.min(1, (dbz - 40) / 10) * STEP_KM * 1000;
  }
  return shi;
}

/** Vertically integrated liquid, kg/m2: 3.44e-6 x integral of Z^(4/7), hail capped at 56 dBZ (Greene and Clark 1972). */
function vilOfProfile(profile: Profile): number {
  let vil = 0;
  for (let height_km = STEP_KM / 2; height_km < HIGHEST_KM; height_km += STEP_KM) {
    const dbz = Math.min(VIL_CAP_DBZ, dbzAt(profile, height_km));
    if (dbz < SKIRT_MIN_DBZ) break;
    vil += 3.44e-6 * 10 ** ((dbz / 10) * (4 / 7)) * STEP_KM * 1000;
  }
  return vil;
}

/** Height at which a profile falls to a reflectivity, metres; -1 when it is weaker everywhere. */
function echoTopM(profile: Profile, dbz: number): number {
  if (profile.dbz < dbz) return -1;
  const top_km = profile.plateau_km + (profile.dbz - dbz) / profile.slope_db_km;
  return Math.min(ECHO_TOP_CAP_M, Math.round(1000 * top_km));
}

/** Profile of a hail column whose constant part reaches `depth_km` (2..4) above the 0 C level: deep ones fall off faster. */
function coreProfile(dbz: number, freezing_level_km: number, depth_km: number): Profile {
  return { dbz, plateau_km: freezing_level_km + depth_km, slope_db_km: 4.5 + 0.75 * (depth_km - 2) };
}

/** Profile of a column without hail: it decreases from 1 km below the 0 C level, so that its hail index stays below 0.1. */
function skirtProfile(dbz: number, freezing_level_km: number): Profile {
  return { dbz, plateau_km: Math.max(0, freezing_level_km - 1), slope_db_km: 6 };
}

export interface ColumnTables {
  readonly core: ReturnType<typeof coreTables>;
  readonly skirt: ReturnType<typeof skirtTables>;
}

const tablesByLevel = new Map<string, ColumnTables>();

/**
 * All products by MESH, for one 0 C level and one depth: those of the tabulated profile whose hail index gives that MESH.
 * The arguments are rounded to 0.2 km and 0.5 km; tables are cached.
 */
export function columnTables(freezing_level_km: number, depth_km: number): ColumnTables {
  const level = Math.round(freezing_level_km * 5) / 5;
  const depth = Math.round(depth_km * 2) / 2;
  const name = `${level} ${depth}`;
  const known = tablesByLevel.get(name);
  if (known) return known;
  const tables = { core: coreTables(level, depth), skirt: skirtTables(level) };
  tablesByLevel.set(name, tables);
  return tables;
}

/** Value of each product for a column with hail by MESH in tenths of a millimetre, in steps of the product; -1 where it has none. */
function coreTables(freezing_level_km: number, depth_km: number) {
  const profiles = Array.from({ length: CORE_STEPS }, (_, i) =>
    coreProfile(WEAKEST_CORE_DBZ + i * CORE_STEP_DBZ, freezing_level_km, depth_km),
  );
  const shi = Float64Array.from(profiles, (profile) => shiOfProfile(profile, freezing_level_km));
  const vil = Float64Array.from(profiles, vilOfProfile);
  const table = () => new Int16Array(MAX_TENTHS + 1).fill(-1);
  const core = {
    dbz_tenths: table(),
    vil_tenths: table(),
    echo_top_18_m: table(),
    echo_top_50_m: table(),
    posh_pct: table(),
  };
  let i = 0;
  for (let tenths = 1; tenths <= MAX_TENTHS; tenths += 1) {
    const wanted = shiOfMesh(tenths / 10);
    while (i < CORE_STEPS - 1 && shi[i] < wanted) i += 1;
    const profile = profiles[i];
    core.dbz_tenths[tenths] = 5 * Math.round(2 * profile.dbz);
    core.vil_tenths[tenths] = Math.round(10 * vil[i]);
    core.echo_top_18_m[tenths] = echoTopM(profile, 18);
    core.echo_top_50_m[tenths] = echoTopM(profile, 50);
    core.posh_pct[tenths] = 10 * Math.round(poshOfShi(wanted, freezing_level_km) / 10);
  }
  return core;
}

/** The same for a column without hail, by whole dBZ above SKIRT_MIN_DBZ. */
function skirtTables(freezing_level_km: number) {
  const profiles = Array.from({ length: SKIRT_MAX_DBZ - SKIRT_MIN_DBZ + 1 }, (_, i) =>
    skirtProfile(SKIRT_MIN_DBZ + i, freezing_level_km),
  );
  return {
    vil_tenths: Int16Array.from(profiles, (profile) => Math.round(10 * vilOfProfile(profile))),
    echo_top_18_m: Int16Array.from(profiles, (profile) => echoTopM(profile, 18)),
  };
}
