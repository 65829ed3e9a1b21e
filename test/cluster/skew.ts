import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Minutes by which some clocks are wrong. */
const SKEW_MIN = 5;
/** Nodes with a wrong clock, and how. */
const SKEWED: Readonly<Record<string, 'ahead' | 'behind'>> = { 'API 2': 'ahead', 'stream 2': 'behind' };

/** Library of Debian's `libfaketime` that shows another time to a process and its threads; null without it. */
const library: string | null = libraries().find(existsSync) ?? null;

function libraries(): string[] {
  const folder = '/usr/lib';
  return readdirSync(folder).map((name) => join(folder, name, 'faketime', 'libfaketimeMT.so.1'));
}

/** Settings that make the clock of a node wrong, if it is one of those; its monotonic clock stays right. */
export function clockOf(node: string): Readonly<Record<string, string>> {
  const direction = SKEWED[node];
  if (direction === undefined || library === null) return {};
  const sign = direction === 'ahead' ? '+' : '-';
  return { LD_PRELOAD: library, FAKETIME: `${sign}${SKEW_MIN * 60}s`, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}

/** A line that says whose clocks are wrong. */
export function clocksText(): string {
  if (library === null) return 'clocks: all right; faketime of Debian, which makes some wrong, is not installed';
  const each = Object.entries(SKEWED).map(([node, direction]) => `${node} ${SKEW_MIN} minutes ${direction}`);
  return `clocks: ${each.join(', ')}, all the time`;
}
