import { BadInput } from '../error.ts';

/**
 * One section of a GRIB2 message. Octets count from 1, as in the WMO tables; multi-octet numbers are big-endian.
 * Reading past the end of a section is a BadInput that names file, message and section.
 */
export interface Section {
  readonly subject: string;
  readonly message: number;
  readonly number: number;
  readonly bytes: Uint8Array;
}

/** The error of a section: `message 1 section 5: ...`. */
export function sectionError(section: Section, reason: string, cause?: unknown): BadInput {
  const place = `message ${section.message} section ${section.number}`;
  return new BadInput('read', section.subject, `${place}: ${reason}`, cause === undefined ? undefined : { cause });
}

/** Unsigned integer of 1 to 4 octets. */
export function unsigned(section: Section, octet: number, octets: number): number {
  const end = octet - 1 + octets;
  if (end > section.bytes.length)
    throw sectionError(section, `${section.bytes.length} bytes long, expected at least ${end}`);
  let value = 0;
  for (let i = octet - 1; i < end; i++) value = value * 256 + section.bytes[i];
  return value;
}

/** Signed integer of 1 to 4 octets: GRIB2 writes sign and magnitude, not two's complement. */
export function signed(section: Section, octet: number, octets: number): number {
  const value = unsigned(section, octet, octets);
  const sign = 2 ** (8 * octets - 1);
  return value < sign ? value : sign - value;
}

/** IEEE single; NaN and infinities are rejected. */
export function float32(section: Section, octet: number): number {
  const word = new DataView(new ArrayBuffer(4));
  word.setUint32(0, unsigned(section, octet, 4));
  const value = word.getFloat32(0);
  if (!Number.isFinite(value)) throw sectionError(section, `octet ${octet} holds ${value}, expected a finite number`);
  return value;
}
