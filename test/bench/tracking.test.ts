import test from 'ava';
import { UsageError } from '../../pipeline/error.ts';
import { trackingOptions } from './tracking.ts';

const ARGUMENTS = ['--product', 'PrecipRate', '--threshold', '50', '--min-pixels', '8', '--bbox', '-107,28.5,-97,36.5'];

for (const [name, args, message] of [
  ['a missing folder', ['--product', 'MESH', '--threshold', '5', '--min-pixels', '1'], /--from/],
  [
    'a threshold in words',
    ['--from', 'x', '--product', 'MESH', '--threshold', 'big', '--min-pixels', '1'],
    /--threshold is 'big'/,
  ],
  [
    'half a pixel',
    ['--from', 'x', '--product', 'MESH', '--threshold', '5', '--min-pixels', '0.5'],
    /--min-pixels is '0.5'/,
  ],
  [
    'a box the wrong way round',
    ['--from', 'x', ...ARGUMENTS.with(-1, '-97,28.5,-107,36.5')],
    /--bbox is '-97,28.5,-107,36.5'/,
  ],
  ['a box of three numbers', ['--from', 'x', ...ARGUMENTS.with(-1, '-97,28.5,-107')], /--bbox/],
  ['a box off the grid', ['--from', 'x', ...ARGUMENTS.with(-1, '5,45,8,47')], /20..55 N/],
  ['an unknown argument', ['--from', 'x', ...ARGUMENTS, '--fast'], /--fast/],
] as const)
  test(`the tracking bench refuses ${name} before it reads anything`, (t) => {
    t.throws(() => trackingOptions([...args]), { instanceOf: UsageError, message });
  });
