import type { Makers } from './kinds.ts';

/** The makers of the service: the one place that names them. A kind without a maker fails its jobs, which are refunded. */
export const MAKERS: Makers = {
  report: async () => {
    throw new Error('reports have no maker');
  },
  export: async () => {
    throw new Error('exports have no maker');
  },
};
