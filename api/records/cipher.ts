import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Kysely, sql, type Transaction } from 'kysely';
import { MASTER_KEY_BYTES, masterKeyBytes } from '../../schemas/settings.ts';
import { readSetting, type Store, writeSetting } from './database.ts';
import type { Database } from './schema.ts';

/** Encrypts secrets under the master key before they are stored, so that a copy of the records alone opens nothing. */
export interface Cipher {
  readonly encrypt: (text: string) => string;
  /** Throws when the text was encrypted under another key, or was changed. */
  readonly decrypt: (stored: string) => string;
  /** HMAC-SHA256 of a text, base64url, under each master key: the first to give out, any to accept. */
  readonly signatures: (text: string) => readonly string[];
}

/** The master key is missing, malformed, readable by other users, or not the key of the records. */
export class MasterKeyError extends Error {
  override name = 'MasterKeyError';
}

const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Mode of a file that its owner alone reads and writes. */
const KEY_FILE_MODE = 0o600;
/** Setting with the id of the key that the records are encrypted under. */
const KEY_SETTING = 'master key';

/** Columns with encrypted text; some rows hold other text. */
const ENCRYPTED = [
  { table: 'subscriptions', column: 'secret' },
  { table: 'webhooks', column: 'secret' },
  { table: 'webhooks', column: 'old_secret' },
  { table: 'idempotency', column: 'body' },
] as const;

/** File of a data root with its master key. */
export function masterKeyPath(records_root: string): string {
  return join(records_root, 'records', 'master.key');
}

/** Encrypts under the first of the keys; decrypts text of any of them. */
function cipherUnder(keys: readonly Buffer[]): Cipher {
  const known = keys.map((master) => ({
    beginning: beginning(keyId(master)),
    key: derived(master, 'hail secrets at rest', MASTER_KEY_BYTES),
    signing: derived(master, 'hail signed addresses', MASTER_KEY_BYTES),
  }));
  const [own] = known;
  if (own === undefined) throw new TypeError('there is no master key');
  return {
    encrypt: (text) => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', own.key, iv);
      const hidden = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${own.beginning}${hidden.toString('base64url')}`;
    },
    decrypt: (stored) => {
      const used = known.find(({ beginning }) => stored.startsWith(beginning));
      if (used === undefined) throw new MasterKeyError('a secret is encrypted under another master key');
      const hidden = Buffer.from(stored.slice(used.beginning.length), 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', used.key, hidden.subarray(0, IV_BYTES));
      decipher.setAuthTag(hidden.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(hidden.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8');
    },
    signatures: (text) => known.map(({ signing }) => createHmac('sha256', signing).update(text).digest('base64url')),
  };
}

/** True for text that was encrypted, under whichever key. */
export function isEncrypted(text: string): boolean {
  return /^v1\.[0-9a-f]{12}\.[A-Za-z0-9_-]+$/.test(text);
}

interface CipherSettings {
  /** Folder with the records of a data root. */
  readonly records_root: string;
  /** Keys that were set, the one to encrypt under first; null: the file of the data root. */
  readonly master_keys: readonly Buffer[] | null;
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Opens the cipher of the records. The first start makes a key file, unless a key is set. With several keys, stored text is
 * encrypted again under the first. Throws MasterKeyError for a malformed key, a key file that other users can read, and records of
 * an unknown key.
 */
export async function openCipher({ name, transaction }: Store, settings: CipherSettings): Promise<Cipher> {
  return await transaction(async (rows) => {
    const keys = (await knownKeys(rows, name, settings)) ?? newKey(masterKeyPath(settings.records_root));
    const cipher = cipherUnder(keys);
    const [own, ...older] = keys.map(keyId);
    for (const old of older) await encryptAnew(rows, cipher, old);
    await writeSetting(rows, KEY_SETTING, own, settings.now());
    return cipher;
  });
}

/** Reason why the service cannot start over these records with these keys; null: it can. Changes nothing. */
export async function masterKeyFault({ reader, name }: Store, settings: Omit<CipherSettings, 'now'>) {
  try {
    await knownKeys(reader, name, settings);
    return null;
  } catch (error) {
    if (!(error instanceof MasterKeyError)) throw error;
    return error.message;
  }
}

/** The keys that were set or the key of the file; null where the records have none yet. Throws MasterKeyError. */
async function knownKeys(
  rows: Kysely<Database>,
  name: string,
  { records_root, master_keys }: Omit<CipherSettings, 'now'>,
): Promise<readonly Buffer[] | null> {
  const path = masterKeyPath(records_root);
  const before = await readSetting(rows, KEY_SETTING);
  const keys = master_keys ?? keysOfFile(path);
  if (before === undefined) return keys;
  if (keys === null)
    throw new MasterKeyError(
      `${path}: no such file, expected the master key that the records were written under, or HAIL_MASTER_KEY`,
    );
  const ids = keys.map(keyId);
  if (ids.every((id) => id !== before))
    throw new MasterKeyError(`records ${name}: master key is ${ids.join(', ')}, expected ${before}, which wrote them`);
  return keys;
}

/** Encrypts text of an old key under the first key. */
async function encryptAnew(rows: Transaction<Database>, { encrypt, decrypt }: Cipher, old: string): Promise<void> {
  for (const { table, column } of ENCRYPTED) {
    const stored = sql.ref(column);
    const found = await sql<{ text: string }>`select distinct ${stored} as text from ${sql.table(table)}
      where ${stored} like ${`${beginning(old)}%`}`.execute(rows);
    for (const { text } of found.rows) {
      const anew = sql`update ${sql.table(table)} set ${stored} = ${encrypt(decrypt(text))} where ${stored} = ${text}`;
      await anew.execute(rows);
    }
  }
}

function beginning(id: string): string {
  return `v1.${id}.`;
}

function derived(master: Buffer, label: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', master, '', label, bytes));
}

function keyId(master: Buffer): string {
  return derived(master, 'hail master key id', 6).toString('hex');
}

/** The one key of the file; null where there is no file. */
function keysOfFile(path: string): readonly Buffer[] | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  const mode = stat.mode & 0o777;
  if (mode !== KEY_FILE_MODE)
    throw new MasterKeyError(`${path} is ${mode.toString(8)}, expected ${KEY_FILE_MODE.toString(8)}`);
  const key = masterKeyBytes(readFileSync(path, 'utf8').trim());
  if (key === null) throw new MasterKeyError(`${path}: is malformed, expected 64 hexadecimal digits`);
  return [key];
}

/** Makes the file atomically, and returns its key; when another process is first, its file stays. */
function newKey(path: string): readonly Buffer[] {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const written = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writeFileSync(written, `${randomBytes(MASTER_KEY_BYTES).toString('hex')}\n`, { mode: KEY_FILE_MODE, flush: true });
  try {
    linkSync(written, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(written);
  }
  return keysOfFile(path) ?? newKey(path);
}
