import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { openCommitJournal, type UnresolvedCommit } from '../../../api/billing/commit-journal.ts';
import { scratch } from '../../support/data/world.ts';

const inDoubt = (id: string): UnresolvedCommit => ({ id, charges: [] });
const idsOf = (commits: readonly UnresolvedCommit[]) => commits.map(({ id }) => id).sort();

test('services that share a folder of records keep what is in doubt in each, and the next start finds all of it', async (t) => {
  const folder = join(await scratch(t), 'records');
  const path = join(folder, 'commits-in-doubt.jsonl');
  const services = [openCommitJournal(path), openCommitJournal(path), openCommitJournal(path)];
  for (const [k, journal] of services.entries()) journal.write([inDoubt(`of service ${k}`)]);
  const [first, ...others] = services;
  for (const journal of others) journal.close();
  const next = openCommitJournal(path);
  t.deepEqual(idsOf(next.left), ['of service 1', 'of service 2'], 'the first one still runs');
  next.write(next.left);
  next.close();
  first?.close();
  const last = openCommitJournal(path);
  t.deepEqual(idsOf(last.left), ['of service 0', 'of service 1', 'of service 2']);
  last.write([inDoubt('new')]);
  t.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.jsonl')),
    ['commits-in-doubt.jsonl'],
  );
  last.close();
});

test('a journal that is none lets go of what it had taken', async (t) => {
  const folder = await scratch(t);
  mkdirSync(folder);
  const path = join(folder, 'commits.jsonl');
  writeFileSync(path, 'no commit\n');
  for (let start = 0; start < 2; start++)
    t.throws(() => openCommitJournal(path), { message: /commits\.jsonl: line 1 is no commit in doubt/ });
});
