import { readdirSync, readFileSync } from 'node:fs';
import type { Node } from './node.ts';

/** What a node took of the machine. */
export interface Usage {
  readonly cpu_s: number;
  /** Most memory of its own, MB: shared pages are counted in parts. */
  readonly peak_mb: number;
}

/** Ticks in which Linux counts processor time, a second. */
const TICKS = 100;
const EVERY_MS = 2_000;

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly started: string;
  readonly ticks: number;
}

/** Measures nodes while they run, kills included; what a process took within the last interval before its end is not seen. */
export function startUsage(nodes: readonly Node[]): { readonly end: () => ReadonlyMap<string, Usage> } {
  const ticks = new Map<string, Map<string, number>>();
  const peaks = new Map<string, number>();
  const measure = () => {
    const children = Map.groupBy(processes(), ({ parent }) => parent);
    const all = [...children.values()].flat();
    for (const node of nodes) {
      const root = all.find(({ pid }) => pid === node.pid());
      if (root === undefined) continue;
      const own = [root, ...descendants(root.pid, children)];
      const counted = ticks.get(node.name) ?? new Map<string, number>();
      ticks.set(node.name, counted);
      for (const each of own) counted.set(`${each.pid} ${each.started}`, each.ticks);
      const mb = own.reduce((sum, { pid }) => sum + memoryOf(pid), 0);
      peaks.set(node.name, Math.max(peaks.get(node.name) ?? 0, mb));
    }
  };
  const timer = setInterval(measure, EVERY_MS);
  return {
    end: () => {
      clearInterval(timer);
      measure();
      return new Map(
        nodes.map(({ name }) => {
          const sum = [...(ticks.get(name)?.values() ?? [])].reduce((total, each) => total + each, 0);
          return [name, { cpu_s: sum / TICKS, peak_mb: peaks.get(name) ?? 0 }];
        }),
      );
    },
  };
}

function descendants(pid: number, children: ReadonlyMap<number, Process[]>): Process[] {
  return (children.get(pid) ?? []).flatMap((child) => [child, ...descendants(child.pid, children)]);
}

/** Processes of the machine, from /proc. */
function processes(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const text = readProc(`/proc/${name}/stat`);
      // The name of the program, in brackets, may hold spaces.
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
      if (fields.length < 20) return [];
      const ticks = Number(fields[11]) + Number(fields[12]);
      return { pid: Number(name), parent: Number(fields[1]), started: fields[19] ?? '', ticks };
    });
}

/** Proportional memory of a process, MB; 0 when it is gone. */
function memoryOf(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(readProc(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1024;
}

function readProc(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the process ended meanwhile
  }
}
