import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { replaceFile } from '../files.ts';
import type { Catalogue, Edition } from '../publish/catalogues.ts';
import { inParallel } from '../sources/parallel.ts';
import { type ShownHead, shownHead, viewsSql } from './views-sql.ts';

/** Raised when the SQL of the views changes, so that the file of an older release is replaced at the next start. */
const VERSION = 1;

/** A first update reads thousands of heads. */
const HEADS_AT_A_TIME = 4;

/**
 * SQL views of every table, in `views.sql` below the data root: all of one edition, and the file is replaced in one step. After a
 * kill between a commit and this file the views show the edition before, whose files lie there until the next start.
 */
export function viewsCatalogue(): Catalogue {
  /** Heads of all partitions in the small form: a commit reads those that it changed. */
  const shown = new Map<string, ShownHead>();
  let opened: Edition['commits'] | null = null;
  return {
    name: 'views',
    place: layout.views,
    version: VERSION,
    update: async (_, { data_root, commits, head }) => {
      // Another opening of a root: its heads may be those of another root with the same numbers.
      if (commits !== opened) shown.clear();
      opened = commits;
      const due = [...commits].filter(([partition, commit]) => shown.get(partition)?.commit !== commit);
      await inParallel(due, HEADS_AT_A_TIME, async ([partition]) => {
        shown.set(partition, shownHead(await head(partition)));
      });
      for (const partition of shown.keys()) if (!commits.has(partition)) shown.delete(partition);
      await replaceFile(join(data_root, layout.views), viewsSql([...shown.values()], data_root));
    },
  };
}
