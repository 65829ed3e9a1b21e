/** Octets of section 0, the indicator section that begins a message with `GRIB`. */
export const INDICATOR_BYTES = 16;
/** Octets of section 8, which ends a message with `7777`. */
export const END_BYTES = 4;

/** Index of the first `GRIB` from an index on; -1 without one. */
export function findMessage(bytes: Uint8Array, from = 0): number {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf('GRIB', from, 'latin1');
}

/** Length of the whole message in bytes, as octets 9 to 16 of its indicator section state it. */
export function statedLength(indicator: Uint8Array): number {
  const view = new DataView(indicator.buffer, indicator.byteOffset, INDICATOR_BYTES);
  return view.getUint32(8) * 2 ** 32 + view.getUint32(12);
}

/** True when bytes are those of section 8. */
export function isEndSection(bytes: Uint8Array): boolean {
  return bytes.length === END_BYTES && bytes.every((byte) => byte === 0x37);
}
