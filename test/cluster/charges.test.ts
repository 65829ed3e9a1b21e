import test from 'ava';
import { type ChargeCheck, compareCharges, type Entry } from './charges.ts';
import type { Told } from './load.ts';

type Answers = Pick<Told, 'answers' | 'failures' | 'exports' | 'gone'>;

const read = (request_id: string, credits = 15): Entry => ({ request_id, operation: 'hail.current', credits });
const ordered = (request_id: string): Entry => ({ request_id, operation: 'exports.create', credits: 100 });
const answered = (...ids: readonly string[]) => ids.map((request_id) => ({ at_ms: 0, request_id, credits: 15 }));
const failed = (unanswered: boolean) => ({ at_ms: 0, what: 'GET /', reason: 'cut off', unanswered, status: null });
const exported = (key: string) => ({ key, job_id: 'exp_1', at_ms: 0 });
const told = (change: Partial<Answers>): Answers => ({
  answers: [],
  failures: [],
  exports: [],
  gone: new Set(),
  ...change,
});

const CASES: readonly (readonly [what: string, readonly Entry[], Answers, Partial<ChargeCheck>])[] = [
  ['every answer is charged', [read('a'), read('b')], told({ answers: answered('a', 'b') }), {}],
  ['an answer is not in the ledger', [read('a')], told({ answers: answered('a', 'b') }), { lost: 1 }],
  ['an answer is charged too little', [read('a', 10)], told({ answers: answered('a') }), { lost: 1 }],
  ['an answer is charged twice', [read('a'), read('a')], told({ answers: answered('a') }), { doubled: 1 }],
  ['an answer was refunded', [read('a'), read('a refund', -15)], told({ answers: answered('a') }), { lost: 1 }],
  ['a charge is gone with a database', [], told({ answers: answered('a'), gone: new Set(['a']) }), {}],
  ['a free answer has no charge', [], told({ answers: [{ at_ms: 0, request_id: 'a', credits: 0 }] }), {}],
  ['a request that was cut off is charged', [read('a')], told({ failures: [failed(true)] }), { unanswered: 1 }],
  ['that charge was refunded', [read('a'), read('a refund', -15)], told({ failures: [failed(true)] }), {}],
  [
    'a request that was refused is charged',
    [read('a')],
    told({ failures: [failed(false)] }),
    { unanswered: 1, doubled: 1 },
  ],
  ['nobody asked for what is charged', [read('a')], told({}), { unanswered: 1, doubled: 1 }],
  [
    'an export is repeated under its key until it is answered',
    [ordered('a')],
    told({ failures: [failed(true)], exports: [exported('once')] }),
    { unanswered: 1 },
  ],
  [
    'a repeated export is charged again',
    [ordered('a'), ordered('b')],
    told({ failures: [failed(true), failed(true)], exports: [exported('once')] }),
    { unanswered: 2, doubled: 1 },
  ],
  ['an accepted export is not charged', [], told({ exports: [exported('once')] }), { lost: 1 }],
];

for (const [what, entries, answers, expected] of CASES)
  test(`the ledger beside the answers when ${what}`, (t) => {
    const nothing = { charges: entries.length, lost: 0, doubled: 0, unanswered: 0 };
    t.deepEqual(compareCharges(entries, answers), { ...nothing, ...expected });
  });
