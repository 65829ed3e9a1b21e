import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { verifyLedger } from '../../../../api/billing/usage.ts';
import { type openDatabase, snapshot } from '../../../../api/records/database.ts';
import { pluck } from '../../data/rows.ts';
import { makeTenant, type Register } from '../world.ts';

const CHILD = fileURLToPath(new URL('../charging-child.ts', import.meta.url));
/** Charges after which the child is killed: while the first, a middle and a later group are being committed. */
const KILLED_AFTER = [1, 40, 333, 1000];

/** Runs a child that charges, kills it once it said so many charges, and returns every charge that it said. */
async function chargeUntilKilled(
  location: Parameters<typeof openDatabase>[0],
  owner: readonly string[],
  round: number,
  said: number,
): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(location), ...owner, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const acknowledged: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.push(line.replace('charged ', ''));
    if (acknowledged.length === said) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return acknowledged;
}

/** kill -9: what was acknowledged is there, once; what was not is there whole or not at all. */
export function killSuite(test: Register): void {
  test('a process killed while it charges loses no acknowledged charge and writes none twice', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const owner = [tenant.caller.business_id, tenant.caller.key_id];
    for (const [round, said] of KILLED_AFTER.entries()) {
      const acknowledged = await chargeUntilKilled(world.location, owner, round, said);
      const ledger = records.reader.selectFrom('ledger').select('operation');
      const rows = await ledger.where('operation', 'like', `round-${round}-%`).execute();
      const written = pluck(rows, 'operation');
      t.true(acknowledged.length >= said);
      t.is(new Set(written).size, written.length, 'a charge was written twice');
      const lost = acknowledged.filter((operation) => !written.includes(operation));
      t.deepEqual(lost, [], 'an acknowledged charge is lost');
    }
    t.deepEqual((await verifyLedger(records.reader)).faults, []);
    // A server may still be ending a commit of the process that died last: one moment is looked at.
    const { made, charged, months } = await snapshot(records.reader, async (rows) => ({
      made: await rows.selectFrom('probes').select('name').execute(),
      charged: await rows.selectFrom('ledger').select('operation').execute(),
      months: await rows.selectFrom('periods').select('used').execute(),
    }));
    const used = months.reduce((sum, month) => sum + month.used, 0);
    t.is(used, 3 * charged.length);
    const chargedWrites = pluck(charged, 'operation').filter((operation) => operation.endsWith('0'));
    const message = 'a row without its charge, or a charge without its row';
    t.deepEqual(pluck(made, 'name').sort(), chargedWrites.sort(), message);
  });
}
