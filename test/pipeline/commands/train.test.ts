import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { trainCommand } from '../../../pipeline/commands/train.ts';
import { PipelineError, UsageError } from '../../../pipeline/error.ts';
import { probsevereSamples } from '../../../pipeline/train/samples.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const train = (...args: string[]) => trainCommand().exitOverride().parseAsync(args, { from: 'user' });
async function folder(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'hail-train-'));
  t.teardown(() => rm(path, { recursive: true }));
  return path;
}

for (const [args, message] of [
  [['--evenings', '1.5'], "--evenings is '1.5', expected a whole number from 0 to 1000"],
  [['--evenings', '-1'], "--evenings is '-1', expected a whole number from 0 to 1000"],
  [['--evenings', '1001'], "--evenings is '1001', expected a whole number from 0 to 1000"],
  [['--seed', ''], "--seed is '', expected a whole number from 0 to 2147483647"],
  [['--from-published', '--evenings', '5'], "--evenings is '5' beside --from-published, expected one of the two"],
  [['--from-published', '--probsevere', 'x'], "--probsevere is 'x' beside --from-published, expected one of the two"],
  [['--evenings', '0'], '--evenings is 0 and --probsevere is missing, expected something to learn from'],
] as const)
  test(`train ${args.join(' ')} is refused before any work`, async (t) => {
    await t.throwsAsync(train(...args), { instanceOf: UsageError, message });
  });

test('a folder without ProbSevere files is refused by name', async (t) => {
  const empty = await folder(t);
  await t.throwsAsync(train('--evenings', '0', '--probsevere', empty), {
    instanceOf: PipelineError,
    message: `train ${empty}: no ProbSevere file, expected at least one *.json`,
  });
});

test('a folder with a broken ProbSevere file is refused, and nothing is written', async (t) => {
  const [input, out] = [await folder(t), await folder(t)];
  await writeFile(join(input, 'broken.json'), '{');
  await t.throwsAsync(train('--evenings', '0', '--probsevere', input, '--out', out), { instanceOf: PipelineError });
  t.deepEqual(await readdir(out), []);
});

sharedTest('two real evenings hold 889 unflagged objects of at least 3 mm, on two dates', async (t) => {
  const samples = await probsevereSamples(sharedData('probsevere'));
  t.is(samples.length, 889);
  t.deepEqual([...new Set(samples.map(({ group }) => group))], ['2021-10-11', '2022-07-20']);
  t.true(samples.every(({ target, predictors }) => target >= 0 && target <= 1 && predictors.mesh_mm >= 3));
});

sharedTest(
  'train writes weights below 10 kB and a card that names material and limits, the same bytes twice',
  async (t) => {
    const [first, second] = [await folder(t), await folder(t)];
    for (const out of [first, second])
      await train('--evenings', '0', '--probsevere', sharedData('probsevere'), '--out', out);
    t.deepEqual((await readdir(first)).sort(), ['hail-model.json', 'model-card.md', 'reliability.svg']);
    const weights = await readFile(join(first, 'hail-model.json'), 'utf8');
    t.is(await readFile(join(second, 'hail-model.json'), 'utf8'), weights);
    t.true(weights.length < 10_000);
    t.like(JSON.parse(weights), {
      version: 'hail-lr-1.2+ps',
      training: { samples: { simulated: 0, probsevere: 889 } },
    });
    const card = await readFile(join(first, 'model-card.md'), 'utf8');
    for (const part of [
      '# Model card: hail-lr-1.2+ps',
      'No ground report was used',
      '889',
      'There are few dates: 2.',
      ', has seen it |',
      'Known failures',
      'How to refit',
    ])
      t.true(card.includes(part), part);
  },
);
