/**
 * What figures rest on that were not fitted to ground reports, one sentence each: the last of the description of every field
 * that gives such a figure, so that its reader knows.
 */
export const ASSUMPTIONS = {
  predicted_size: 'By an assumed law that was not fitted to ground reports.',
  confidence: 'A judgement by fixed rules, not a measured frequency.',
  hourly_steps: 'The steps from model to hail are judgement, anchored to the climatology of reports.',
  pool_weights: 'The weights of SPC and the model are judgement.',
  climatology: 'The built-in climatology, which prevails where there is little data, is judgement.',
} as const;
