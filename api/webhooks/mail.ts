import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Transaction } from 'kysely';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { z } from 'zod';
import { listMembers } from '../accounts/members.ts';
import type { Records } from '../metering/records.ts';
import type { Database } from '../store/schema.ts';
import type { Queue, Task } from '../store/tasks/queue.ts';

/** Name of the tasks that mail. */
export const MAIL_TASK = 'mail';

/** A mail to one person. */
const Mail = z.object({
  /** Names the mail: sent again after a fault, it is the same one. */
  id: z.uuid(),
  to: z.string(),
  subject: z.string(),
  text: z.string(),
  /** Attempts to send it that failed. */
  failed: z.int(),
});
export type Mail = z.infer<typeof Mail>;

/** Roles whose members are told what happens to the receivers of their business. */
const TOLD: readonly string[] = ['admin', 'manager'];

const FIRST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 3_600_000;
/** A day and a bit: who has not answered by then is not waited for. */
const ATTEMPTS_MAX = 30;

/** Mails the admins and managers of a business, in the transaction that causes it: a task for each. */
export async function mailTeam(
  rows: Transaction<Database>,
  queue: Pick<Queue, 'add'>,
  business_id: string,
  { subject, text }: Pick<Mail, 'subject' | 'text'>,
): Promise<void> {
  const members = await listMembers(rows, business_id);
  for (const { email } of members.filter(({ role }) => TOLD.includes(role)))
    await addMail(rows, queue, { id: randomUUID(), to: email, subject, text, failed: 0 });
}

async function addMail(
  rows: Transaction<Database>,
  queue: Pick<Queue, 'add'>,
  mail: Mail,
  due_ms?: number,
): Promise<void> {
  await queue.add(rows, {
    name: MAIL_TASK,
    group: mail.to,
    payload: mail,
    ...(due_ms === undefined ? {} : { due_ms }),
  });
}

export interface MailerSettings {
  /** Server, with the sender as `from` in its query; null: mail is put into a folder. */
  readonly smtp_url: string | null;
  /** Folder with the records of a data root: mail is put below it. */
  readonly records_root: string;
  /** Called with what the server did not take, and why; nobody is told when left out. */
  readonly refused?: (mail: Pick<Mail, 'id' | 'failed'>, error: unknown) => void;
}

/** Hands on mail. */
export interface Mailer extends Required<Pick<MailerSettings, 'refused'>> {
  /** Throws when the server did not take it. */
  readonly send: (mail: Mail) => Promise<void>;
  /** Puts it into the folder, where it is found again by people. */
  readonly spool: (mail: Mail) => Promise<void>;
}

/** Folder with the mail that no server was given. */
export function spoolPath(records_root: string): string {
  return join(records_root, 'records', 'mail');
}

const SENDER = 'hail@localhost';

/** Mail by SMTP, or as `.eml` files that its owner alone can read. */
export function openMailer({ smtp_url, records_root, refused = () => {} }: MailerSettings): Mailer {
  const writer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const url = smtp_url === null ? null : new URL(smtp_url);
  const from = url?.searchParams.get('from') ?? SENDER;
  const message = ({ id, to, subject, text }: Mail): SendMailOptions => ({
    from,
    // As an object, what an address is made of cannot begin another one.
    to: { name: '', address: to },
    subject,
    text,
    messageId: `<${id}@hail>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
  });
  const spool: Mailer['spool'] = async (mail) => {
    const folder = spoolPath(records_root);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { message: bytes } = await writer.sendMail(message(mail));
    const path = join(folder, `${mail.id}.eml`);
    writeFileSync(`${path}.part`, bytes as Buffer, { mode: 0o600, flush: true });
    renameSync(`${path}.part`, path);
  };
  if (url === null) return { send: spool, spool, refused };
  url.searchParams.delete('from');
  const server = createTransport({
    url: url.href,
    connectionTimeout: 15_000,
    greetingTimeout: 15_000,
    socketTimeout: 30_000,
  });
  return {
    send: async (mail) => {
      await server.sendMail(message(mail));
    },
    spool,
    refused,
  };
}

/** Sends the mail of a task. What the server does not take is tried again for a day, and then put into the folder. */
export async function sendMail(
  { payload }: Pick<Task, 'payload'>,
  mailer: Mailer,
  { records, queue }: { readonly records: Pick<Records, 'transaction'>; readonly queue: Pick<Queue, 'add'> },
): Promise<void> {
  const mail = Mail.parse(payload);
  try {
    await mailer.send(mail);
  } catch (error) {
    const failed = mail.failed + 1;
    mailer.refused({ id: mail.id, failed }, error);
    if (failed >= ATTEMPTS_MAX) {
      await mailer.spool(mail);
      return;
    }
    const wait_ms = Math.min(FIRST_WAIT_MS * 2 ** mail.failed, LONGEST_WAIT_MS);
    await records.transaction((rows) => addMail(rows, queue, { ...mail, failed }, Date.now() + wait_ms));
  }
}
