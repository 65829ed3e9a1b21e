import test from 'ava';
import { type Edit, editOf, nextManifest } from '../../../pipeline/publish/commit.ts';
import { ingestedAt, type Manifest, type PublishedFile } from '../../../schemas/manifest.ts';

const DATE = { partition: '2026-05-01', provenance: 'observed', storm_day_start_hour: 0, closed: false } as const;
const NOW_MS = Date.parse('2026-05-01T20:30:00Z');

const scan = (scan_id: string, segment = scan_id, inputs = 'a') => ({ scan_id, segment, inputs });

function file(path: string, segment: string): PublishedFile {
  return {
    path,
    kind: 'table',
    table: 'cells',
    segment,
    rows: 1,
    bytes: 1,
    sha256: 'ab'.repeat(32),
    schema_version: 1,
    first_scan: null,
    last_scan: null,
    bbox: null,
    max_size_mm: null,
  };
}

const staged = (path: string, segment: string) => ({ staged: '', entry: file(path, segment) });

/** A manifest with the scans A and B, each a segment with a file of its own, at commit 7. */
const MANIFEST: Manifest = {
  ...nextManifest(null, editOf(DATE, { add_files: [staged('a', 'A'), staged('b', 'B')] }), 0),
  commit: 7,
  table_commits: { cells: 5, tracks: 7 },
  scans: [scan('A'), scan('B')],
  feeds: { MESH: '2026-05-01T20:00:00Z', POSH: '2026-05-01T20:00:00Z' },
};

/** The parts of a manifest that its edits are about, in short. */
function brief({ commit, closed, scans, files, table_commits }: Manifest) {
  return {
    commit,
    closed,
    table_commits,
    scans: scans.map(({ scan_id, segment, inputs }) => `${scan_id} ${segment} ${inputs}`),
    files: files.map(({ path, segment }) => `${path} ${segment}`),
  };
}

const SAME = {
  commit: 8,
  closed: false,
  table_commits: { cells: 5, tracks: 7 },
  scans: ['A A a', 'B B a'],
  files: ['a A', 'b B'],
};

const EDITS: readonly (readonly [title: string, changes: Partial<Edit>, expected: Partial<typeof SAME>])[] = [
  ['an edit without changes only counts the commit', {}, {}],
  ['added scans come in order of time', { add_scans: [scan('AB')] }, { scans: ['A A a', 'AB AB a', 'B B a'] }],
  [
    'a scan that is added again replaces its entry',
    { add_scans: [scan('A', 'A2', 'b')] },
    { scans: ['A A2 b', 'B B a'] },
  ],
  [
    'a dropped segment takes its scans and files with it',
    { drop_segments: ['A'] },
    { scans: ['B B a'], files: ['b B'] },
  ],
  ['a segment nobody knows drops nothing', { drop_segments: ['X'] }, {}],
  [
    'a segment is replaced by what is added in the same edit',
    { drop_segments: ['A', 'B'], add_scans: [scan('A', 'day'), scan('B', 'day')], add_files: [staged('c', 'day')] },
    { scans: ['A day a', 'B day a'], files: ['c day'] },
  ],
  ['a file that is added again replaces its entry', { add_files: [staged('a', 'A2')] }, { files: ['b B', 'a A2'] }],
  [
    'a file listed again under another segment outlives the one it was in',
    { drop_segments: ['A'], relist_files: [file('a', 'hour')] },
    { scans: ['B B a'], files: ['b B', 'a hour'] },
  ],
  [
    'changed tables take the number of the commit, others keep theirs',
    { changed_tables: ['cells'] },
    { table_commits: { cells: 8, tracks: 7 } },
  ],
  ['a date is closed by the edit that says so', { closed: true }, { closed: true }],
];

for (const [title, changes, expected] of EDITS)
  test(title, (t) => {
    t.deepEqual(brief(nextManifest(MANIFEST, editOf(DATE, changes), NOW_MS)), { ...SAME, ...expected });
  });

test('the first manifest of a partition is commit 1 and holds what is added', (t) => {
  const first = nextManifest(null, editOf(DATE, { add_scans: [scan('A')], changed_tables: ['cells'] }), NOW_MS);
  t.deepEqual(brief(first), { ...brief(first), commit: 1, scans: ['A A a'], files: [], table_commits: { cells: 1 } });
  t.is(first.committed_at, '2026-05-01T20:30:00Z');
});

test('rows came in with the commit, unless the edit says of which published rows it was made', (t) => {
  const brought = nextManifest(MANIFEST, editOf(DATE, {}), NOW_MS);
  t.is(ingestedAt(brought), '2026-05-01T20:30:00Z');
  const joined = nextManifest(brought, editOf(DATE, { ingested_at: ingestedAt(brought) }), NOW_MS + 86_400_000);
  t.deepEqual([joined.committed_at, ingestedAt(joined)], ['2026-05-02T20:30:00Z', '2026-05-01T20:30:00Z']);
  t.is(ingestedAt(nextManifest(joined, editOf(DATE, {}), NOW_MS + 2 * 86_400_000)), '2026-05-03T20:30:00Z');
});

test('feeds keep the newest time of each product', (t) => {
  const feeds = { MESH: Date.parse('2026-05-01T20:10:00Z'), POSH: Date.parse('2026-05-01T19:00:00Z') };
  t.deepEqual(nextManifest(MANIFEST, editOf(DATE, { feeds }), NOW_MS).feeds, {
    MESH: '2026-05-01T20:10:00Z',
    POSH: '2026-05-01T20:00:00Z',
  });
});

test('data of the other provenance begin with feeds of their own', (t) => {
  const other = editOf({ ...DATE, provenance: 'simulated' }, { feeds: { VIL: 0 } });
  t.deepEqual(nextManifest(MANIFEST, other, NOW_MS).feeds, { VIL: '1970-01-01T00:00:00Z' });
});
