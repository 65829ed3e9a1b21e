import { processTree, readProc } from '../support/kill/process-tree.ts';
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

/** Measures nodes while they run, kills included; what a process took within the last interval before its end is not seen. */
export function startUsage(nodes: readonly Node[]): { readonly end: () => ReadonlyMap<string, Usage> } {
  const ticks = new Map<string, Map<string, number>>();
  const peaks = new Map<string, number>();
  const measure = () => {
    for (const node of nodes) {
      const own = processTree(node.pid());
      const counted = ticks.get(node.name) ?? new Map<string, number>();
      ticks.set(node.name, counted);
      for (const pid of own) countTicks(pid, counted);
      const mb = own.reduce((sum, pid) => sum + memoryOf(pid), 0);
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

/** Notes the processor time of a process under its number and start: numbers are given again. */
function countTicks(pid: number, counted: Map<string, number>): void {
  const text = readProc(`/proc/${pid}/stat`);
  // The name of the program, in brackets, may hold spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (fields.length > 19) counted.set(`${pid} ${fields[19]}`, Number(fields[11]) + Number(fields[12]));
}

/** Proportional memory of a process, MB; 0 when it is gone. */
function memoryOf(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(readProc(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1024;
}
