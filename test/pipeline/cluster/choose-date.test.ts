import test from 'ava';
import { chooseDate, type DateTask, type TaskStatus } from '../../../pipeline/cluster/choose-date.ts';
import { addDays } from '../../../schemas/time.ts';

const STATUS: Readonly<Record<string, TaskStatus>> = {
  w: 'waiting',
  z: 'waiting',
  r: 'running',
  d: 'done',
  f: 'failed',
};

/** Tasks from 1 May on, a letter each: waiting, waiting and at rest (z), running, done, failed. */
const tasks = (letters: string): DateTask[] =>
  [...letters].map((letter, day) => ({
    storm_date: addDays('2026-05-01', day),
    status: STATUS[letter] as TaskStatus,
    is_due: letter !== 'z',
  }));

for (const [letters, day] of [
  ['wwww', 0],
  ['dwww', 1],
  ['fwww', 1],
  ['rdww', 2],
  ['rwwww', 3],
  ['rwwrwwww', 6],
  ['rwwrdwww', 5],
  ['rw', 1],
  ['rzw', 2],
  ['dz', null],
  ['rrdd', null],
  ['', null],
] as const)
  test(`of '${letters}' a free worker takes ${day === null ? 'none' : `date ${day}`}`, (t) => {
    t.is(chooseDate(tasks(letters)), day === null ? null : addDays('2026-05-01', day));
  });

test('dates on each side of one without a task do not count as one stretch', (t) => {
  const [first, ...rest] = tasks('rww');
  const later = tasks('wwww').map((task) => ({ ...task, storm_date: addDays(task.storm_date, 30) }));
  t.is(chooseDate([first as DateTask, ...rest, ...later.map((task) => ({ ...task }))]), '2026-05-31');
});
