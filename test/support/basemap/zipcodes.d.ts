/** Types of the used parts of zipcodes; the package has none. */
declare module 'zipcodes/lib/codes.js' {
  interface ZipCode {
    readonly zip: string;
    readonly latitude: number;
    readonly longitude: number;
    readonly city: string;
    /** USPS code; `AE` and the like for the military. */
    readonly state: string;
  }
  export const codes: Readonly<Record<string, ZipCode>>;
}

declare module 'zipcodes/lib/states.js' {
  /** Names of states in capitals to USPS codes. */
  export const full: Readonly<Record<string, string>>;
  /** USPS codes to names of states in capitals. */
  export const abbr: Readonly<Record<string, string>>;
}
