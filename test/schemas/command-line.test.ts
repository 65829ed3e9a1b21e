import { readFileSync } from 'node:fs';
import test from 'ava';
import { explainError as explainOfTheService } from '../../api/commands/cli.ts';
import { explainError } from '../../pipeline/commands/arguments.ts';
import { systemFault } from '../../schemas/command-line.ts';

/** The error of a folder that we may not write: tests may run as a user who may write everywhere. */
const denied = Object.assign(new Error("EACCES: permission denied, mkdir '/srv/hail'"), {
  code: 'EACCES',
  syscall: 'mkdir',
  path: '/srv/hail',
});

test('a refusal of the operating system is one sentence with its path in front', (t) => {
  t.is(systemFault(denied), '/srv/hail: permission denied (EACCES, mkdir)');
  const gone = t.throws(() => readFileSync('/nowhere/at/all'));
  t.is(systemFault(gone), '/nowhere/at/all: no such file or directory (ENOENT, open)');
});

test('a refusal without a path is told as it is, and other errors are none', (t) => {
  const taken = Object.assign(new Error('listen EADDRINUSE: address already in use 127.0.0.1:8080'), {
    code: 'EADDRINUSE',
    syscall: 'listen',
  });
  t.is(systemFault(taken), 'listen EADDRINUSE: address already in use 127.0.0.1:8080');
  t.is(systemFault(new TypeError('x is not a function')), null);
  t.is(systemFault('text'), null);
});

test('both commands tell a refusal of the operating system without a stack', (t) => {
  for (const explain of [explainError, explainOfTheService])
    t.deepEqual(explain(denied), { code: 1, message: '/srv/hail: permission denied (EACCES, mkdir)' });
});
