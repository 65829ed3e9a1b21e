import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { codeBlocks, PROJECT, readDocument, sectionOf } from '../support/data/markdown.ts';
import { scratch } from '../support/data/world.ts';

const PICTURE = 'data/examples/hail-2026-05-01.svg';

test('the commands printed with the simulated picture of the README draw it again, byte for byte', async (t) => {
  const [printed = ''] = codeBlocks(sectionOf(readDocument('data/README.md'), '### The pictures in the README'), 'sh');
  t.true(printed.includes(`--out ${PICTURE}`));
  const out = await scratch(t, 'picture.svg');
  const commands = printed.replaceAll('npx hail-pipeline', 'node pipeline/start.js').replace(PICTURE, out);
  const path = `${join(PROJECT, 'node_modules/.bin')}:${process.env.PATH}`;
  await promisify(execFile)('sh', ['-e', '-c', `${commands}\nrm -rf "$work"`], {
    cwd: PROJECT,
    env: { ...process.env, PATH: path, HAIL_LOG_LEVEL: 'warn' },
  });
  const drawn = readFileSync(out, 'utf8');
  t.true(drawn.includes('SIMULATED'));
  t.is(drawn, readDocument(PICTURE));
});
