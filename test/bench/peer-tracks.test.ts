import test from 'ava';
import { UsageError } from '../../pipeline/error.ts';
import { headingOf } from '../../pipeline/track/motion.ts';
import { START } from '../support/data/parting.ts';
import { square } from '../support/data/square.ts';
import { peerFrames, readPeerTracks } from './peer-tracks.ts';

const TINT = `scan,uid,time,grid_x,grid_y,lon,lat,area
0,7,2019-06-10 00:00:00,1,2,-97.5,36.1,20
1,7,2019-06-10 00:02:00,1,2,-97.48,36.1,20
`;
const TOBAC = `,frame,time,cell,latitude,longitude
0,1,2019-06-10 00:02:00,-1,36.3,-97.1
1,1,2019-06-10T00:02:00Z,3,36.2,-97.2
`;

test('tables of TINT and of tobac are read by their own column names, rows without a track left out', (t) => {
  const [first, second] = readPeerTracks(TINT, 'tint.csv');
  t.deepEqual([first?.track_id, first?.scan_time], ['7', Date.parse('2019-06-10T00:00:00Z')]);
  t.deepEqual([second?.lat, second?.lon], [36.1, -97.48]);
  t.deepEqual(
    readPeerTracks(TOBAC, 'tobac.csv').map(({ track_id, lat }) => [track_id, lat]),
    [['3', 36.2]],
  );
});

test('a table without positions, or with a time that is none, is refused by file and line', (t) => {
  t.throws(() => readPeerTracks('uid,time\n1,2019-06-10 00:00:00', 'x.csv'), {
    instanceOf: UsageError,
    message: /x.csv/,
  });
  t.throws(() => readPeerTracks(TINT.replace('2019-06-10 00:02:00', 'soon'), 'x.csv'), { message: /line 3/ });
});

test("an object moves by the peer's track on it; one without a track by the median of the others", (t) => {
  const [near, far] = [square(1500, 3500), square(1500, 3700)];
  const points = [0, 1, 2].map((k) => ({
    track_id: 'a',
    scan_time: START + k * 120_000,
    lat: near.lat,
    lon: near.lon + 0.02 * k,
    size: 0,
    reshaped: false,
  }));
  const frames = peerFrames(points, [{ scan_time: START + 240_000, cells: [near, far] }]);
  const headings = frames[0]?.objects.map(({ velocity }) => velocity && headingOf(velocity));
  t.is(headings?.length, 2);
  for (const heading of headings ?? []) {
    t.true(Math.abs((heading?.direction_deg as number) - 90) < 1e-6);
    t.true(Math.abs((heading?.speed_kmh as number) - 0.6 * 85.9) < 1); // 0.02 deg of longitude at 40 N in two minutes
  }
});
