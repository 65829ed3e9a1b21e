import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { purgeBusiness } from '../../../../api/accounts/businesses.ts';
import { recordsOver } from '../../../../api/metering/records.ts';
import { verifyLedger } from '../../../../api/metering/verify.ts';
import { upsertLocations } from '../../../../api/portfolio/locations.ts';
import { dumpRecords, restoreRecords } from '../../../../api/store/backup.ts';
import { openDatabase, type Store } from '../../../../api/store/database.ts';
import { chargeOf, makeTenant, type Register, usedBy } from '../world.ts';

/** Lines of a dump without their line ends. */
async function dump(store: Store): Promise<string[]> {
  const pages = await Array.fromAsync(dumpRecords(store, 0, () => {}));
  return pages.join('').trimEnd().split('\n');
}

/** Rows that the database numbers get new numbers. */
function unnumbered(lines: readonly string[]): string[] {
  return lines.map((line) => line.replace(/"id":\d+,/, ''));
}

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

/** Dumps: the same from and into every kind of database. */
export function backupSuite(test: Register): void {
  test('a dump goes into a SQLite file and back, row for row, and the sums agree', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme', { monthly_limit: 1_000_000, overage_rate: 0.0025 });
    const { business_id } = tenant.caller;
    await Promise.all(Array.from({ length: 1100 }, () => records.charge(chargeOf(tenant, 3, world))));
    await records.transaction((rows) =>
      upsertLocations(
        { rows, business_id, now_ms: world.now_ms },
        [
          {
            id: null,
            name: 'Scheune “Nord” 🐄',
            lat: 35.12345678901234,
            lon: -97.1,
            address: "it's\n\\n",
            tags: ['é'],
          },
        ],
        10,
      ),
    );
    const lines = await dump(records.store);

    const folder = mkdtempSync(join(tmpdir(), 'hail-dump-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const copy = await recordsOver(openDatabase({ path: join(folder, 'copy.sqlite') }), { now: () => world.now_ms });
    await restoreRecords(copy.store, each(lines));
    t.deepEqual(await dump(copy.store), lines);
    t.is(await copy.charge(chargeOf(tenant, 3, world)), 'charged');
    await copy.close();

    await t.throwsAsync(restoreRecords(records.store, each(lines)), { message: /hold businesses, expected none/ });
    await records.transaction(async (rows) => {
      await purgeBusiness(rows, records.store, { id: business_id, name: 'acme' }, world.now_ms);
      await rows.deleteFrom('audit').execute();
    });
    t.is(await restoreRecords(records.store, each(lines)), lines.length - 2);
    t.deepEqual(unnumbered(await dump(records.store)), unnumbered(lines));
    t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
    t.deepEqual((await verifyLedger(records.reader)).faults, []);
    t.is(await usedBy(records, tenant), 3303);
  });

  test('a dump replaces what the records hold when that is asked for, and a bad one leaves it', async (t, world) => {
    const records = await world.open();
    await makeTenant(records, world, 'acme');
    const lines = await dump(records.store);
    const other = await makeTenant(records, world, 'other');
    await records.charge(chargeOf(other, 3, world));
    const before = await dump(records.store);
    const replace = { replace: true };
    await t.throwsAsync(restoreRecords(records.store, each(lines.slice(0, -1)), replace), {
      message: /expected an end/,
    });
    t.deepEqual(await dump(records.store), before);
    t.is(await restoreRecords(records.store, each(lines), replace), lines.length - 2);
    t.deepEqual(unnumbered(await dump(records.store)), unnumbered(lines));
  });
}
