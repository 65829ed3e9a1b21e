import type { CatalogueName } from '../../schemas/settings.ts';
import type { Catalogue } from '../publish/catalogues.ts';
import { icebergCatalogue } from './iceberg.ts';
import { stacCatalogue } from './stac.ts';
import { viewsCatalogue } from './views.ts';

const KEPT: Readonly<Record<CatalogueName, () => Catalogue>> = { stac: stacCatalogue, iceberg: icebergCatalogue };

/** The catalogues that a data root keeps: the SQL views always, others by setting. */
export function cataloguesOf(names: readonly CatalogueName[]): readonly Catalogue[] {
  return [viewsCatalogue(), ...names.map((name) => KEPT[name]())];
}
