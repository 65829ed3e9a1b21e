import { state } from '../state.ts';
import { SIZES } from './palette.ts';
import { Card, Fold } from './parts.tsx';

/** The fixed scale of sizes: every step with inches, unfolded with mm and name. */
export function Legend() {
  return (
    <Card id="legend" label="Colours of estimated hail size">
      <p>Estimated hail size, this much or more</p>
      <ol id="legend-steps" class="row">
        {SIZES.map((step) => (
          <li key={step.mm_min} class={step.category === null ? 'step small' : 'step'}>
            <span class="swatch" style={{ background: step.color, color: step.ink }}>
              {step.inches} in
            </span>
            <span>{step.mm_min} mm</span>
            <span class="name">{step.name ?? 'scans'}</span>
          </li>
        ))}
      </ol>
      {state.layers.includes('smooth') && <p class="always">Outlines are smoothed</p>}
      <p class="hatched">No radar coverage: not known</p>
      <Fold card="legend" label="Legend of hail sizes" />
    </Card>
  );
}
