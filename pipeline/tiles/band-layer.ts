import type { BandArea } from './band-rings.ts';

const TILE_VERSION = 2;
const MAX_VARINT_BYTES = 5;
const POLYGON = 3;
const MOVE_TO = 1;
const LINE_TO = 2;
const CLOSE_PATH = 7;
/** Fields of the format, as (number << 3) | wire type: 0 for a number, 2 for bytes. */
const FIELD = {
  tileLayer: (3 << 3) | 2,
  layerName: (1 << 3) | 2,
  layerFeature: (2 << 3) | 2,
  layerKey: (3 << 3) | 2,
  layerValue: (4 << 3) | 2,
  layerExtent: 5 << 3,
  layerVersion: 15 << 3,
  featureTags: (2 << 3) | 2,
  featureType: 3 << 3,
  featureGeometry: (4 << 3) | 2,
  valueUint: 5 << 3,
} as const;

/** Names and extent of the layer of band areas in a tile. */
interface BandLayer {
  readonly name: string;
  /** The one attribute of an area. */
  readonly key: string;
  /** Value of the attribute for each band, from the first. */
  readonly values: readonly number[];
  readonly extent: number;
}

/**
 * A vector tile with one layer and one multi-polygon for each band, lowest band first. Encoded directly from the rings: a
 * composite has a million corners, and feature objects would take several times as long.
 * Source: Mapbox Vector Tile specification, version 2.1.
 */
export function bandLayerTile(areas: readonly BandArea[], { name, key, values, extent }: BandLayer): Uint8Array {
  const byBand = Map.groupBy(areas, ({ band }) => band);
  const bands = [...byBand.keys()].sort((a, b) => a - b);
  const layer = new Message();
  layer.text(FIELD.layerName, name);
  bands.forEach((band, index) => {
    const feature = new Message();
    feature.bytes(FIELD.featureTags, Uint8Array.of(0, index));
    feature.number(FIELD.featureType, POLYGON);
    feature.bytes(FIELD.featureGeometry, geometry(byBand.get(band) ?? []));
    layer.bytes(FIELD.layerFeature, feature.written());
  });
  layer.text(FIELD.layerKey, key);
  for (const band of bands) {
    const value = new Message();
    value.number(FIELD.valueUint, values[band - 1]);
    layer.bytes(FIELD.layerValue, value.written());
  }
  layer.number(FIELD.layerExtent, extent);
  layer.number(FIELD.layerVersion, TILE_VERSION);
  const tile = new Message();
  tile.bytes(FIELD.tileLayer, layer.written());
  return tile.written();
}

/** Geometry commands of all rings, with delta-encoded corners. */
function geometry(areas: readonly BandArea[]): Uint8Array {
  const all = areas.flatMap(({ rings }) => rings);
  const numbers = all.reduce((sum, ring) => sum + ring.length + 3, 0);
  const commands = new Message(MAX_VARINT_BYTES * numbers);
  let x0 = 0;
  let y0 = 0;
  for (const ring of all) {
    for (let i = 0; i < ring.length; i += 2) {
      if (i === 0) commands.varint((1 << 3) | MOVE_TO);
      else if (i === 2) commands.varint(((ring.length / 2 - 1) << 3) | LINE_TO);
      commands.varint(zigzag(ring[i] - x0));
      commands.varint(zigzag(ring[i + 1] - y0));
      x0 = ring[i];
      y0 = ring[i + 1];
    }
    commands.varint((1 << 3) | CLOSE_PATH);
  }
  return commands.written();
}

function zigzag(value: number): number {
  return (value << 1) ^ (value >> 31);
}

/** Writer of a protocol buffer message. */
class Message {
  #bytes: Uint8Array;
  #length = 0;

  constructor(room = 256) {
    this.#bytes = new Uint8Array(room);
  }

  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** A whole number from 0 to 2^31 - 1. */
  varint(value: number): void {
    this.#room(MAX_VARINT_BYTES);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  number(field: number, value: number): void {
    this.varint(field);
    this.varint(value);
  }

  bytes(field: number, content: Uint8Array): void {
    this.number(field, content.length);
    this.#room(content.length);
    this.#bytes.set(content, this.#length);
    this.#length += content.length;
  }

  text(field: number, content: string): void {
    this.bytes(field, new TextEncoder().encode(content));
  }

  #room(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * (this.#length + more));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}
