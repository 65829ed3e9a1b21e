import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Transaction } from 'kysely';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { z } from 'zod';
import type { Transact } from '../records/database.ts';
import type { Database } from '../records/schema.ts';
import type { Queue, Task } from '../records/tasks.ts';
import { listMembers } from './businesses.ts';

export const MAIL_TASK = 'mail';

const Mail = z.object({
  /** The same for each attempt to send this mail. */
  id: z.uuid(),
  to: z.string(),
  subject: z.string(),
  text: z.string(),
  /** Failed attempts to send it. */
  failed: z.int(),
});
export type Mail = z.infer<typeof Mail>;

/** Roles whose members get mail about the receivers of their business. */
const MAILED_ROLES: readonly string[] = ['admin', 'manager'];

const FIRST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 3_600_000;
/** About a day of attempts. */
const ATTEMPTS_MAX = 30;

/** Adds a mail task for each admin and manager of a business, in the transaction that causes the mail. */
export async function mailTeam(
  rows: Transaction<Database>,
  queue: Pick<Queue, 'add'>,
  business_id: string,
  { subject, text }: Pick<Mail, 'subject' | 'text'>,
): Promise<void> {
  const members = await listMembers(rows, business_id);
  for (const { email } of members.filter(({ role }) => MAILED_ROLES.includes(role)))
    await queue.add(rows, mailTask({ id: randomUUID(), to: email, subject, text, failed: 0 }, Date.now()));
}

function mailTask(mail: Mail, due_ms: number) {
  return { name: MAIL_TASK, group: mail.to, payload: mail, due_ms };
}

type Mailer = ReturnType<typeof openMailer>;

/** Folder of mail that was not sent to a server. */
function spoolPath(records_root: string): string {
  return join(records_root, 'records', 'mail');
}

const SENDER = 'hail@localhost';

/**
 * Sends mail by SMTP (`smtp_url`: the server, with the sender as `from` in its query), or, where that is null, writes it below
 * `records_root` as `.eml` files that only their owner can read. `refused` is called with each mail that the server refused, and the error.
 */
export function openMailer(
  { smtp_url, records_root }: { readonly smtp_url: string | null; readonly records_root: string },
  refused: (mail: Pick<Mail, 'id' | 'failed'>, error: unknown) => void = () => {},
) {
  const writer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const url = smtp_url === null ? null : new URL(smtp_url);
  const from = url?.searchParams.get('from') ?? SENDER;
  url?.searchParams.delete('from');
  const timeouts = { connectionTimeout: 15_000, greetingTimeout: 15_000, socketTimeout: 30_000 };
  const server = url && createTransport({ url: url.href, ...timeouts });
  const message = ({ id, to, subject, text }: Mail): SendMailOptions => ({
    ...{ from, subject, text },
    // As an object: the text of an address cannot begin a second address.
    to: { name: '', address: to },
    messageId: `<${id}@hail>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
  });
  const spool = async (mail: Mail): Promise<void> => {
    const folder = spoolPath(records_root);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { message: bytes } = await writer.sendMail(message(mail));
    const path = join(folder, `${mail.id}.eml`);
    writeFileSync(`${path}.part`, bytes as Buffer, { mode: 0o600, flush: true });
    renameSync(`${path}.part`, path);
  };
  return {
    /** Throws when the server refuses it. */
    send: async (mail: Mail): Promise<void> => {
      if (server === null) await spool(mail);
      else await server.sendMail(message(mail));
    },
    /** Writes it to the folder, for operators. */
    spool,
    refused,
  };
}

/** Sends the mail of a task. Repeats a refused mail for a day, and then writes it to the folder. */
export async function sendMail(
  { payload }: Pick<Task, 'payload'>,
  mailer: Mailer,
  { records, queue }: { readonly records: { readonly transaction: Transact }; readonly queue: Pick<Queue, 'add'> },
): Promise<void> {
  const mail = Mail.parse(payload);
  try {
    await mailer.send(mail);
  } catch (error) {
    const failed = mail.failed + 1;
    mailer.refused({ id: mail.id, failed }, error);
    if (failed >= ATTEMPTS_MAX) return await mailer.spool(mail);
    const wait_ms = Math.min(FIRST_WAIT_MS * 2 ** mail.failed, LONGEST_WAIT_MS);
    await records.transaction((rows) => queue.add(rows, mailTask({ ...mail, failed }, Date.now() + wait_ms)));
  }
}
