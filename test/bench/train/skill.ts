const BINS = 10;
const RESAMPLES = 500;

/** A case with the probability of a model fitted without its group. */
export interface HeldOut {
  readonly group: string;
  readonly target: number;
  readonly probability: number;
  /** Probability of the reference law of MESH alone, fitted without the group too. */
  readonly start: number;
}

export interface Metrics {
  readonly cases: number;
  readonly groups: number;
  readonly base_rate: number;
  readonly brier: number;
  /** 1 - Brier score over that of the base rate. */
  readonly skill_climatology: number;
  /** 1 - Brier score over that of the one-variable law. */
  readonly skill_start: number;
  /** 5 and 95 % of both skills over resampled groups. */
  readonly skill_climatology_interval: readonly [number, number];
  readonly skill_start_interval: readonly [number, number];
  /** Expected calibration error over ten bins of equal count. */
  readonly ece: number;
  readonly reliability: readonly { readonly cases: number; readonly forecast: number; readonly observed: number }[];
}

/** Scores of probabilities on held-out cases; intervals resample whole groups with a generator seeded by `seed`. */
export function measure(cases: readonly HeldOut[], seed: number): Metrics {
  const rate = mean(cases.map(({ target }) => target));
  const reliability = bins(cases);
  const groups = [...Map.groupBy(cases, ({ group }) => group).values()];
  const draw = generator(seed);
  const resampled = Array.from({ length: RESAMPLES }, () =>
    skills(groups.flatMap(() => groups[Math.floor(draw() * groups.length)] ?? [])),
  );
  const interval = (values: number[]): [number, number] => {
    values.sort((a, b) => a - b);
    const at = (share: number) => values[Math.round(share * (values.length - 1))];
    return [at(0.05), at(0.95)];
  };
  return {
    cases: cases.length,
    groups: groups.length,
    base_rate: rate,
    brier: mean(cases.map(({ probability, target }) => (probability - target) ** 2)),
    ...skills(cases),
    skill_climatology_interval: interval(resampled.map(({ skill_climatology }) => skill_climatology)),
    skill_start_interval: interval(resampled.map(({ skill_start }) => skill_start)),
    ece: reliability.reduce((sum, bin) => sum + (bin.cases / cases.length) * Math.abs(bin.forecast - bin.observed), 0),
    reliability,
  };
}

function skills(cases: readonly HeldOut[]) {
  const rate = mean(cases.map(({ target }) => target));
  const brier = mean(cases.map(({ probability, target }) => (probability - target) ** 2));
  const against = (reference: number) => (reference > 0 ? 1 - brier / reference : 0);
  return {
    skill_climatology: against(mean(cases.map(({ target }) => (rate - target) ** 2))),
    skill_start: against(mean(cases.map(({ start, target }) => (start - target) ** 2))),
  };
}

function bins(cases: readonly HeldOut[]) {
  const sorted = cases.toSorted((a, b) => a.probability - b.probability);
  return Array.from({ length: BINS }, (_, bin) =>
    sorted.slice(Math.round((bin * sorted.length) / BINS), Math.round(((bin + 1) * sorted.length) / BINS)),
  )
    .filter((part) => part.length > 0)
    .map((part) => ({
      cases: part.length,
      forecast: mean(part.map(({ probability }) => probability)),
      observed: mean(part.map(({ target }) => target)),
    }));
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Uniform numbers in [0, 1). Source: mulberry32 (Tommy Ettinger), the same on every machine. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
