import { readFileSync } from 'node:fs';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { type FileObject, type ProbSevereFile, readProbSevere } from '../../../pipeline/read/probsevere.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

/** A storm one degree wide with what the feed writes about it; every number is text. */
const SQUARE = [
  [-96, 38],
  [-96, 39],
  [-95, 39],
  [-95, 38],
  [-96, 38],
];
const PROPERTIES: Readonly<Record<string, unknown>> = {
  ID: '89234',
  MESH: '0.25',
  VIL_DENSITY: '1.67',
  MUCAPE: '485',
  EBSHEAR: '48.6',
  WETBULB_0C_HGT: '11.8',
  FLASH_RATE: '10',
  SIZE: '515',
  MOTION_EAST: '15.042',
  MOTION_SOUTH: '-14.019',
};

interface Made {
  readonly top?: Record<string, unknown>;
  readonly properties?: Record<string, unknown>;
  readonly models?: Record<string, unknown>;
  readonly ring?: unknown;
}

function made({ top, properties, models, ring = SQUARE }: Made = {}): Buffer {
  const feature = {
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [ring] },
    models: models ?? {
      probhail: { PROB: '12', LINE02: '- MESH: 0.25 in.' },
      probwind: { PROB: '3' },
      probtor: { PROB: '0' },
    },
    properties: { ...PROPERTIES, ...properties },
  };
  return Buffer.from(
    JSON.stringify({
      source: 'NOAA/NCEP Central Operations',
      product: 'ProbSevere',
      validTime: '20211011_000053 UTC',
      type: 'FeatureCollection',
      features: [feature],
      ...top,
    }),
  );
}

/** A file of two objects, in one of which a bit of a key has flipped. */
function uneven(): Buffer {
  const { features } = JSON.parse(made({ models: { probhail: { PROB: '12' } } }).toString()) as { features: object[] };
  const text = made({ top: { features: [features[0], features[0]] } }).toString();
  return Buffer.from(text.replace('"MESH"', '"MDSH"'));
}

function only(file: Made): FileObject {
  return readProbSevere(made(file), 'x').objects[0] as FileObject;
}

test('text becomes numbers in our units: inches to mm, thousands of feet to km, percent to shares', (t) => {
  const { geometry: _, speed_kmh, direction_deg, ...object } = only({});
  t.deepEqual(object, {
    valid_time: Date.parse('2021-10-11T00:00:53Z'),
    probsevere_id: '89234',
    lat: 38.5,
    lon: -95.5,
    prob_hail: 0.12,
    prob_wind: 0.03,
    prob_tornado: 0,
    mesh_mm: 6.35,
    vil_density_g_m3: 1.67,
    mucape_j_kg: 485,
    effective_shear_kt: 48.6,
    melting_level_km: 3.59664,
    flash_rate_per_min: 10,
    size_px: 515,
    flag_distrusted: false,
    model: 'probsevere-2',
  });
});

for (const [east, south, speed_kmh, direction_deg] of [
  ['15.042', '-14.019', 74.0, 47.0],
  ['9.452', '-10.614', 51.2, 41.7],
  ['10', '0', 36, 90],
  ['0', '10', 36, 180],
  ['-10', '0', 36, 270],
  ['0', '-10', 36, 0],
] as const)
  test(`motion of ${east} m/s east and ${south} m/s south is ${speed_kmh} km/h towards ${direction_deg} degrees`, (t) => {
    const object = only({ properties: { MOTION_EAST: east, MOTION_SOUTH: south } });
    t.true(Math.abs((object.speed_kmh as number) - speed_kmh) < 0.05);
    t.true(Math.abs((object.direction_deg as number) - direction_deg) < 0.05);
  });

for (const [title, properties] of [
  ['faster than 40 m/s', { MOTION_EAST: '40.1', MOTION_SOUTH: '0' }],
  ['that is absent', { MOTION_EAST: undefined }],
  ['that is not available', { MOTION_SOUTH: 'N/A' }],
] as const)
  test(`motion ${title} is unknown, never 0`, (t) => {
    const { speed_kmh, direction_deg } = only({ properties });
    t.deepEqual([speed_kmh, direction_deg], [null, null]);
  });

test('a storm that stands still has a speed and no direction', (t) => {
  const { speed_kmh, direction_deg } = only({ properties: { MOTION_EAST: '0.000', MOTION_SOUTH: '0.000' } });
  t.deepEqual([speed_kmh, direction_deg], [0, null]);
});

test('fields that are absent, not available or -999 are null', (t) => {
  const object = only({
    models: { probhail: { PROB: '12' } },
    properties: { MESH: undefined, MUCAPE: '-999', SIZE: '12.5', FLASH_RATE: 'N/A', VIL_DENSITY: '' },
  });
  t.deepEqual(
    [object.mesh_mm, object.mucape_j_kg, object.size_px, object.flash_rate_per_min, object.vil_density_g_m3],
    [null, null, null, null, null],
  );
});

test('a version 3 file may carry its probabilities among the properties', (t) => {
  const file = made({
    top: { product: 'ProbSevere 3.0' },
    models: {},
    properties: { ProbHail: '55', ProbWind: '4', ProbTor: '1' },
  });
  const { model, objects } = readProbSevere(file, 'x');
  t.is(model, 'probsevere-3');
  t.deepEqual([objects[0]?.prob_hail, objects[0]?.prob_wind, objects[0]?.prob_tornado], [0.55, 0.04, 0.01]);
});

test('the probability of the model goes before that of the properties', (t) => {
  t.is(only({ properties: { ProbHail: '99', PS: '98' } }).prob_hail, 0.12);
});

test('"(flagged)" at the end of the MESH line means that the model distrusts it', (t) => {
  t.true(only({ models: { probhail: { PROB: '0', LINE02: '- MESH: 0.25 in. (flagged)' } } }).flag_distrusted);
});

test('clockwise rings are turned round, counter-clockwise ones stay', (t) => {
  const counter = 'POLYGON ((-96 38, -95 38, -95 39, -96 39, -96 38))';
  t.is(only({}).geometry, counter);
  t.is(only({ ring: SQUARE.toReversed() }).geometry, counter);
});

test('a ring that touches itself is kept', (t) => {
  const bow = [
    [-96, 38],
    [-96, 40],
    [-95, 39],
    [-94, 40],
    [-94, 38],
    [-95, 39],
    [-96, 38],
  ];
  t.regex(only({ ring: bow }).geometry, /^POLYGON \(\(-96 38, -95 39, -94 38/);
});

test('an open ring is closed', (t) => {
  t.is(only({ ring: SQUARE.slice(0, 4) }).geometry, 'POLYGON ((-96 38, -95 38, -95 39, -96 39, -96 38))');
});

test('only a source of "simulated" says that a simulator wrote the file', (t) => {
  t.false(readProbSevere(made(), 'x').simulated);
  t.true(readProbSevere(made({ top: { source: 'simulated' } }), 'x').simulated);
});

test('a file without storms has no objects', (t) => {
  t.deepEqual(readProbSevere(made({ top: { features: [] } }), 'x').objects, []);
});

for (const [title, file, reason] of [
  ['that is no JSON', Buffer.from('{"a":'), /not json, expected a json file of the feed/],
  ['that is JSON of something else', Buffer.from('[1,2]'), /file value: invalid input: expected object/],
  ['of another product', made({ top: { product: 'Lightning' } }), /product 'Lightning', expected ProbSevere/],
  [
    'with a time that does not exist',
    made({ top: { validTime: '20211032_000053 UTC' } }),
    /validTime '20211032_000053 UTC', expected YYYYMMDD_HHMMSS UTC/,
  ],
  ['with an object without id', made({ properties: { ID: undefined } }), /feature 1 has no ID/],
  ['with an object without hail probability', made({ models: {} }), /feature 1 has no hail probability/],
  [
    'with a probability above 100',
    made({ models: { probhail: { PROB: '101' } } }),
    /feature 1 has Probhail 101, expected 0 to 100/,
  ],
  ['with a ring of two points', made({ ring: [SQUARE[0], SQUARE[2]] }), /feature 1 geometry\.coordinates\.0: /],
  [
    'with a position off the lattice',
    made({ ring: SQUARE.with(1, [-96, 56]) }),
    /feature 1 geometry\.coordinates\.0\.1\.1: /,
  ],
  [
    'with a position of three numbers',
    made({ ring: [[-96, 3, 38], ...SQUARE.slice(1)] }),
    /feature 1 geometry\.coordinates\.0\.0: /,
  ],
  [
    'with a polygon of a whole region',
    made({ ring: SQUARE.map(([lon = 0, lat]) => [lon === -96 ? -106 : lon, lat]) }),
    /feature 1 has a polygon of 11.00 degrees, expected at most 5/,
  ],
  [
    'with a value that is no number',
    made({ properties: { MUCAPE: '4b5' } }),
    /feature 1 has MUCAPE '4b5', expected a n/,
  ],
  ['with a padded value', made({ properties: { SIZE: '5 ' } }), /feature 1 has SIZE '5', expected a number/],
  [
    'with a probability that is no number',
    made({ models: { probhail: { PROB: '12' }, probwind: { PROB: 'r' } } }),
    /feature 1 has probwind 'r', expected a number/,
  ],
  [
    'with a value out of range',
    made({ properties: { FLASH_RATE: '90010' } }),
    /has FLASH_RATE 90010, expected at most/,
  ],
  [
    'with a MESH that its display text does not repeat',
    made({ properties: { MESH: '4.25' } }),
    /feature 1 has MESH '4.25' and the text '- MESH: 0.25 in.', expected the same/,
  ],
  [
    'with a probability that its display text does not repeat',
    made({ models: { probhail: { PROB: '52', LINE01: 'ProbHail: 12%' } } }),
    /feature 1 has probhail '52' and the text 'ProbHail: 12%', expected the same/,
  ],
  ['with a damaged key in one of its objects', uneven(), /MESH in 1 of 2 objects, expected all or none/],
  [
    'with a position that is text',
    made({ ring: [['-96', 38], ...SQUARE.slice(1)] }),
    /feature 1 geometry\.coordinates\.0\.0\.0: /,
  ],
] as const)
  test(`a file ${title} is refused by name`, (t) => {
    const error = t.throws(() => readProbSevere(file, 'ps.json'), { instanceOf: BadInput });
    t.true(error.message.startsWith('read ps.json: '));
    t.regex(error.message, reason);
  });

// Real files.

interface DayFigures {
  readonly per_file: readonly {
    readonly file: string;
    readonly valid_time: string;
    readonly objects: number;
    readonly distinct_ids: number;
    readonly max_mesh_in: number;
    readonly max_mesh_id: string;
    readonly mesh_ge_1_in: number;
    readonly max_prob_hail: number;
    readonly prob_hail_ge_50: number;
    readonly polygon_points_total: number;
  }[];
  readonly example_track: {
    readonly id: string;
    readonly points: readonly {
      readonly valid_time: string;
      readonly mesh_in: number;
      readonly prob_hail: number;
      readonly motion_east_ms: number;
      readonly motion_south_ms: number;
      readonly centroid: readonly [number, number];
    }[];
  };
}

function figures(): Record<string, DayFigures> {
  return JSON.parse(readFileSync(sharedData('expected.json'), 'utf8')).probsevere;
}

function realFile(name: string): ProbSevereFile {
  return readProbSevere(readFileSync(sharedData('probsevere', name)), name);
}

sharedTest('all 18 real files: objects, times, sizes, probabilities and rings are those of the figures', (t) => {
  let files = 0;
  for (const day of Object.values(figures()))
    for (const expected of day.per_file) {
      files++;
      const { objects, valid_time, model } = realFile(expected.file);
      t.is(model, 'probsevere-2');
      t.is(valid_time, Date.parse(expected.valid_time));
      t.is(objects.length, expected.objects);
      t.is(new Set(objects.map((object) => object.probsevere_id)).size, expected.distinct_ids);
      const largest = objects.reduce((best, next) => ((next.mesh_mm ?? 0) > (best.mesh_mm ?? 0) ? next : best));
      t.is(largest.mesh_mm, Math.round(25_400 * expected.max_mesh_in) / 1000);
      t.is(largest.probsevere_id, expected.max_mesh_id);
      t.is(objects.filter((object) => (object.mesh_mm ?? 0) >= 25.4).length, expected.mesh_ge_1_in);
      t.is(Math.max(...objects.map((object) => object.prob_hail)), expected.max_prob_hail / 100);
      t.is(objects.filter((object) => object.prob_hail >= 0.5).length, expected.prob_hail_ge_50);
      const points = objects.reduce((sum, object) => sum + object.geometry.split(',').length, 0);
      t.is(points, expected.polygon_points_total);
    }
  t.is(files, 18);
});

sharedTest('the example tracks: size, probability, motion and centroid of one storm through an evening', (t) => {
  for (const { per_file, example_track } of Object.values(figures()))
    for (const point of example_track.points) {
      const name = per_file.find((file) => file.valid_time === point.valid_time)?.file as string;
      const object = realFile(name).objects.find(({ probsevere_id }) => probsevere_id === example_track.id);
      t.is(object?.mesh_mm, Math.round(25_400 * point.mesh_in) / 1000);
      t.is(object?.prob_hail, point.prob_hail / 100);
      const speed = 3.6 * Math.hypot(point.motion_east_ms, point.motion_south_ms);
      t.true(Math.abs((object?.speed_kmh as number) - speed) < 1e-9);
      const [lon, lat] = point.centroid;
      t.true(Math.abs((object?.lon as number) - lon) < 1e-4 && Math.abs((object?.lat as number) - lat) < 1e-4);
    }
});

test('a file of more objects than any weather has is refused before they are read', (t) => {
  const { features } = JSON.parse(made().toString()) as { features: object[] };
  const error = t.throws(() => readProbSevere(made({ top: { features: Array(3001).fill(features[0]) } }), 'x'), {
    instanceOf: BadInput,
  });
  t.is(error.message, 'read x: 3001 objects, expected at most 3000');
});

sharedTest('a real file of August 2026, without VIL_DENSITY and with motion in whole numbers, is read', (t) => {
  const name = 'MRMS_PROBSEVERE_20260830_230841.json';
  const { model, objects } = readProbSevere(
    readFileSync(sharedData('field', name)),
    name,
    Date.parse('2026-08-30T23:08:41Z'),
  );
  t.is(model, 'probsevere-3');
  t.deepEqual(
    objects.map((object) => [object.probsevere_id, object.prob_hail, object.mesh_mm, object.vil_density_g_m3]),
    [
      ['467171', 0.08, 20.574, null],
      ['467952', 0, 0, null],
    ],
  );
  t.is(objects[0]?.speed_kmh, 3.6 * Math.hypot(3, 1));
});
