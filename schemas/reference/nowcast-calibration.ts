import table from '../../data/reference/nowcast-calibration.json' with { type: 'json' };

/** Rising curve from a raw probability to how often it came true. */
export interface CalibrationCurve {
  readonly raw: readonly number[];
  readonly probability: readonly number[];
}

/** Calibration of the strike nowcast by lead, fitted on simulated evenings by `npm run bench -- nowcast --fit`. */
export const NOWCAST_CALIBRATION: {
  /** Version of the model and this calibration. */
  readonly version: string;
  readonly leads: Readonly<Record<'t15' | 't30' | 't45', CalibrationCurve>>;
} = table;
