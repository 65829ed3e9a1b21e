/** Length of a master key. */
export const MASTER_KEY_BYTES = 32;

/** The bytes of a master key from 64 hexadecimal digits or from base64; null for any other text. */
export function masterKeyBytes(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === MASTER_KEY_BYTES && bytes.toString('base64') === text ? bytes : null;
}
