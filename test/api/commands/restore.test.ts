import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import fsPromises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import test from 'ava';
import { jobFilePath } from '../../../api/jobs/files.ts';
import { deleteJob, filedJobs, type Job } from '../../../api/jobs/rows.ts';
import { deliveryPause } from '../../../api/store/delivery-pause.ts';
import { takeLock, takeServiceLock } from '../../../api/store/sqlite-locks.ts';
import { inRecords, withReports } from '../../support/service/done-reports.ts';
import { operator } from '../../support/service/run-command.ts';

test.serial(
  'a backup with files brings every finished report back, byte for byte, readable by its owner only',
  async (t) => {
    const source = operator(t);
    const jobs = await withReports(source, ['one', 'two', 'three ✓']);
    const folder = source.path("back up's folder");
    t.like(await source.json('backup', 'create', `${folder}/`, '--with-files'), { files: 3, bytes: 15, missing: [] });
    t.deepEqual(readdirSync(folder).sort(), ['backup.json', 'records.ndjson.gz', 'reports']);
    t.is(statSync(folder).mode & 0o777, 0o700);
    const target = operator(t);
    const { code, out } = await target.run('restore', folder);
    t.is(code, 0, out);
    t.regex(out, /^Restored \d+ rows and 3 files\./);
    for (const job of jobs) {
      const path = jobFilePath(target.config.data_root, job);
      t.deepEqual(readFileSync(path), readFileSync(jobFilePath(source.config.data_root, job)));
      t.is(statSync(path).mode & 0o777, 0o600);
    }
    t.deepEqual(readdirSync(target.path('reports')).length, 3);
    t.regex((await target.run('doctor')).out, /^ok {5}job files: every report and export that is done has its file$/m);
  },
);

test.serial('restore says what no backup brings: published data, and files that were not in it', async (t) => {
  const source = operator(t);
  const [job] = await withReports(source, ['one']);
  await source.json('backup', 'create', source.path('records.gz'));
  const target = operator(t);
  const { code, out } = await target.run('restore', source.path('records.gz'));
  t.is(code, 5);
  t.regex(
    out,
    new RegExp(`^Missing: files of reports and exports: the file of ${job?.id} is gone\\. Copy reports/`, 'm'),
  );
  t.regex(out, /^Missing: published data: \S+ holds no scans\. A backup has none/m);
});

test.serial('a file that is lost or damaged is left out of a backup by name, and the rest is whole', async (t) => {
  const source = operator(t);
  const [lost, damaged, well] = (await withReports(source, ['one', 'two', 'six'])) as [Job, Job, Job];
  rmSync(jobFilePath(source.config.data_root, lost));
  writeFileSync(jobFilePath(source.config.data_root, damaged), 'TWO');
  const { code, out } = await source.run('backup', 'create', source.path('folder'), '--with-files');
  t.is(code, 5);
  t.regex(out, new RegExp(`^The file of ${lost.id} is gone: the backup is without it\\.$`, 'm'));
  t.regex(out, new RegExp(`^The file of ${damaged.id} has the SHA-256 [0-9a-f]+, its row says`, 'm'));
  const target = operator(t);
  t.is((await target.run('restore', source.path('folder'))).code, 5);
  t.deepEqual(readdirSync(target.path('reports')), [jobFilePath('', well).split('/').at(-1)]);
});

test.serial('a file that changed inside a backup is not restored, and is named', async (t) => {
  const source = operator(t);
  const [first, second] = (await withReports(source, ['one', 'two'])) as [Job, Job];
  await source.json('backup', 'create', source.path('folder'), '--with-files');
  writeFileSync(jobFilePath(source.path('folder'), first), 'ONE');
  const target = operator(t);
  const { code, out } = await target.run('restore', source.path('folder'));
  t.is(code, 5);
  t.regex(out, new RegExp(`the file of ${first.id} has the SHA-256 [0-9a-f]+, its row says [0-9a-f]+ in the backup`));
  t.false(existsSync(jobFilePath(target.config.data_root, first)));
  t.true(existsSync(jobFilePath(target.config.data_root, second)));
});

test.serial('a folder that was cut short is no backup: it has no list, or half of its records', async (t) => {
  const source = operator(t);
  await withReports(source, ['one']);
  const [folder, cut] = [source.path('folder'), source.path('folder.partial')];
  await source.json('backup', 'create', folder, '--with-files');
  cpSync(folder, cut, { recursive: true });
  rmSync(`${cut}/backup.json`);
  const target = operator(t);
  const without = await target.run('restore', cut);
  t.is(without.code, 1);
  t.regex(without.err, /has no backup\.json, which is written last: it was cut short, or is no backup/);
  truncateSync(`${folder}/records.ndjson.gz`, 200);
  const half = await target.run('restore', folder);
  t.is(half.code, 1);
  t.regex(half.err, /is cut short or not a backup/);
  t.deepEqual(await target.json('business', 'list'), { businesses: [] });
  writeFileSync(`${folder}/backup.json`, '{"format":"hail-backup","version":2,"created_at":"","rows":0,"files":0}');
  t.regex((await target.run('restore', folder)).err, /is not the list of a backup that this version reads/);
});

test.serial(
  'a report that runs out while its file is copied is in the backup with its file, or not at all',
  async (t) => {
    const source = operator(t);
    const [first, second] = (await withReports(source, ['one', 'two'])) as [Job, Job];
    const { copyFile } = fsPromises;
    t.teardown(() => {
      fsPromises.copyFile = copyFile;
      syncBuiltinESMExports();
    });
    let copies = 0;
    fsPromises.copyFile = async (...args) => {
      copies += 1;
      if (copies === 1) {
        await inRecords(source, (records) =>
          records.transaction((rows) => deleteJob(rows, second, source.config.now_ms)),
        );
        rmSync(jobFilePath(source.config.data_root, second));
      }
      await copyFile(...args);
    };
    syncBuiltinESMExports();
    t.like(await source.json('backup', 'create', source.path('folder'), '--with-files'), { files: 1, missing: [] });
    const target = operator(t);
    t.is((await target.run('restore', source.path('folder'))).code, 0);
    const restored = await inRecords(target, ({ reader }) => filedJobs(reader, null));
    t.deepEqual(
      restored.map(({ id }) => id),
      [first.id],
    );
  },
);

test.serial('a full disk leaves no backup behind, and nothing of it', async (t) => {
  const source = operator(t);
  await withReports(source, ['one']);
  const { copyFile } = fsPromises;
  t.teardown(() => {
    fsPromises.copyFile = copyFile;
    syncBuiltinESMExports();
  });
  fsPromises.copyFile = async () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  };
  syncBuiltinESMExports();
  const { code, err } = await source.run('backup', 'create', source.path('folder'), '--with-files');
  t.is(code, 1);
  t.regex(err, /no space left/i);
  t.deepEqual(
    readdirSync(source.config.data_root).filter((name) => name.startsWith('folder')),
    [],
  );
});

test.serial(
  'records that hold businesses are replaced only when that is asked for, and never under a service',
  async (t) => {
    const source = operator(t);
    await source.json('business', 'create', 'from the backup');
    await source.json('backup', 'create', source.path('records.gz'));
    const target = operator(t);
    await target.json('business', 'create', 'in place');
    const names = async () =>
      ((await target.json('business', 'list')).businesses as { name: string }[]).map(({ name }) => name);
    const refused = await target.run('restore', source.path('records.gz'));
    t.is(refused.code, 4);
    t.regex(refused.err, /hold businesses, expected none; --replace deletes them/);
    t.deepEqual(await names(), ['in place']);
    const release = takeServiceLock(target.config.data_root);
    const under = await target.run('restore', source.path('records.gz'), '--replace');
    release?.();
    t.is(under.code, 4);
    t.regex(under.err, /a service runs on the records of \S+, expected none: stop it first/);
    writeFileSync(source.path('bad.gz'), 'nothing');
    t.is((await target.run('restore', source.path('bad.gz'), '--replace')).code, 1);
    t.deepEqual(await names(), ['in place'], 'a backup that cannot be read replaces nothing');
    await target.json('restore', source.path('records.gz'), '--replace');
    t.deepEqual(await names(), ['from the backup']);
  },
);

test.serial('restored records are marked as a copy until the operator says that the original is gone', async (t) => {
  const source = operator(t);
  await source.json('business', 'create', 'acme');
  await source.json('backup', 'create', source.path('records.gz'));
  const target = operator(t);
  const { out } = await target.run('restore', source.path('records.gz'));
  t.regex(out, /Once it is gone: hail-api webhook resume --original-is-gone$/m);
  t.regex((await target.run('doctor')).out, /^note {3}deliveries: events and mails wait since .*--original-is-gone'/m);
  t.is((await target.run('webhook', 'resume')).code, 2);
  t.like(await target.json('webhook', 'resume', '--original-is-gone'), { changed: true, dropped: 0 });
  t.like(await target.json('webhook', 'resume', '--original-is-gone'), { changed: false });
  t.regex((await target.run('doctor')).out, /^ok {5}deliveries: none is overdue$/m);
  t.deepEqual(await inRecords(target, ({ reader }) => deliveryPause(reader)), null);

  const copy = operator(t);
  await copy.json('webhook', 'pause').catch(() => {});
  t.like(await copy.json('restore', source.path('records.gz'), '--original-is-gone'), { paused: false });
  t.deepEqual(await inRecords(copy, ({ reader }) => deliveryPause(reader)), null);
  t.like(await copy.json('webhook', 'pause'), { changed: true });
  t.like(await copy.json('webhook', 'pause'), { changed: false });
  await copy.json('backup', 'create', copy.path('paused.gz'));
  const third = operator(t);
  await third.json('restore', copy.path('paused.gz'), '--original-is-gone');
  t.deepEqual(await inRecords(third, ({ reader }) => deliveryPause(reader)), null);
});

/** Changes the lines of the records in a backup. */
function changeRecords(file: string, change: (text: string) => string): void {
  writeFileSync(file, gzipSync(change(gunzipSync(readFileSync(file)).toString())));
}

test.serial(
  'a job in a backup that names a file outside of the folder of files is refused, and nothing is written',
  async (t) => {
    const source = operator(t);
    const [job] = (await withReports(source, ['one'])) as [Job];
    const folder = source.path('folder');
    await source.json('backup', 'create', folder, '--with-files');
    const target = operator(t);
    // The file lies where this name leads to, so that only the name is wrong.
    cpSync(jobFilePath(folder, job), jobFilePath(folder, { ...job, id: '../x' }));
    for (const wrong of ['../x', '../../../../escaped', 'rpt_', '/x']) {
      const own = source.path(`copy-${wrong.length}`);
      cpSync(folder, own, { recursive: true });
      changeRecords(join(own, 'records.ndjson.gz'), (text) => text.replaceAll(job.id, wrong));
      const { code, err } = await target.run('restore', own);
      t.is(code, 1, wrong);
      t.regex(err, /a job that is done names no file of a job \(id: /);
    }
    t.deepEqual(await target.json('business', 'list'), { businesses: [] });
    t.deepEqual(readdirSync(target.config.data_root), ['records']);
  },
);

test.serial('what lies in a backup in place of a file is not read: a pipe, a device, a folder', async (t) => {
  const source = operator(t);
  const jobs = await withReports(source, ['one', 'two', 'six', 'ten']);
  const folder = source.path('folder');
  await source.json('backup', 'create', folder, '--with-files');
  const [pipe = '', device = '', inner = '', linked = ''] = jobs.map((job) => jobFilePath(folder, job));
  const aside = source.path('aside');
  cpSync(linked, aside);
  for (const path of [pipe, device, inner, linked]) rmSync(path);
  execFileSync('mkfifo', [pipe]);
  symlinkSync('/dev/zero', device);
  mkdirSync(inner);
  symlinkSync(aside, linked);
  const target = operator(t);
  const { code, out } = await target.run('restore', folder);
  t.is(code, 5);
  for (const job of jobs.slice(0, 3)) t.regex(out, new RegExp(`the file of ${job.id} is no file in the backup`));
  const [, , , last] = jobs as [Job, Job, Job, Job];
  t.deepEqual(
    readdirSync(target.path('reports')),
    [jobFilePath('', last).split('/').at(-1)],
    'a link to the same bytes is the file',
  );
});

test.serial('a backup that nobody may write to is restored', async (t) => {
  const source = operator(t);
  const [job] = (await withReports(source, ['one'])) as [Job];
  const folder = source.path('folder');
  await source.json('backup', 'create', folder, '--with-files');
  chmodSync(jobFilePath(folder, job), 0o400);
  const target = operator(t);
  t.is((await target.run('restore', folder)).code, 0);
  t.is(statSync(jobFilePath(target.config.data_root, job)).mode & 0o777, 0o600);
});

test.serial('records with a byte that changed are refused, and so are those of another backup', async (t) => {
  const source = operator(t);
  await withReports(source, ['one']);
  const folder = source.path('folder');
  await source.json('backup', 'create', folder, '--with-files');
  const file = join(folder, 'records.ndjson.gz');
  const whole = readFileSync(file);
  const target = operator(t);
  // The head of the packed file says when and where it was packed.
  for (const at of [40, whole.length >> 1, whole.length - 9, whole.length - 1]) {
    const bytes = Buffer.from(whole);
    bytes.writeUInt8((bytes.readUInt8(at) + 1) % 256, at);
    writeFileSync(file, bytes);
    t.is((await target.run('restore', folder)).code, 1, `byte ${at}`);
  }
  await source.json('business', 'create', 'later');
  await source.json('backup', 'create', source.path('later.gz'));
  cpSync(source.path('later.gz'), file);
  const mixed = await target.run('restore', folder);
  t.is(mixed.code, 1);
  t.regex(mixed.err, /records\.ndjson\.gz holds \d+ rows and the list says \d+: they are of two backups/);
  t.deepEqual(await target.json('business', 'list'), { businesses: [] });
});

test.serial('a small file that unpacks to a line without an end is refused before it fills the memory', async (t) => {
  const target = operator(t);
  const bomb = target.path('bomb.gz');
  writeFileSync(bomb, gzipSync(Buffer.alloc(64 * 1024 * 1024, 'a')));
  const { code, err } = await target.run('restore', bomb);
  t.is(code, 1);
  t.regex(err, /has a line of over 33554432 characters, expected a row/);
  const folder = target.path('folder');
  mkdirSync(folder);
  writeFileSync(join(folder, 'backup.json'), `${' '.repeat(70_000)}{}`);
  t.regex((await target.run('restore', folder)).err, /backup\.json is not the list of a backup/);
});

test.serial(
  'a backup whose name another process is writing is refused, and leaves the unfinished one alone',
  async (t) => {
    const source = operator(t);
    await withReports(source, ['one']);
    const folder = source.path('folder');
    const release = takeLock(`${folder}.lock`);
    writeFileSync(`${folder}.partial`, 'of the other');
    const { code, err } = await source.run('backup', 'create', folder, '--with-files');
    t.is(code, 4);
    t.regex(err, /is being written by another process, expected none/);
    t.is(readFileSync(`${folder}.partial`, 'utf8'), 'of the other');
    release?.();
    await source.json('backup', 'create', folder, '--with-files');
    t.deepEqual(
      readdirSync(source.config.data_root).filter((name) => name.startsWith('folder')),
      ['folder'],
    );
  },
);

test.serial('a backup does not go where the service or the pipeline deletes what they do not know', async (t) => {
  const source = operator(t);
  await withReports(source, ['one']);
  symlinkSync(source.path('reports'), source.path('by-link'));
  for (const place of ['reports/backup.gz', 'by-link/backup.gz']) {
    const { code, err } = await source.run('backup', 'create', source.path(place));
    t.is(code, 4);
    t.regex(err, /lies in a folder of the data root \S+, where it would be deleted, expected another place/);
  }
  t.is((await source.run('backup', 'create', source.path('backup.gz'))).code, 0);
});
