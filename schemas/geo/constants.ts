/** Equatorial radius of WGS84, km. */
export const WGS84_A_KM = 6378.137;
/** Square of the first eccentricity of WGS84. */
export const WGS84_E2 = 0.0066943799901413165;
/** The same to twelve digits. Pixel areas and local scales are made with it: the full value would change the last digits of published areas. */
export const WGS84_E2_12_DIGITS = 0.00669437999014;

/** Mean radius of the earth, km (IUGG). */
export const EARTH_RADIUS_KM = 6371.0088;
/** Length of a degree on a sphere of that radius, to 0.1 km: for estimates good to 0.5 %. */
export const KM_PER_DEG = 111.2;
/** Length of a degree of longitude on the equator of WGS84, km, to 0.01 km. */
export const KM_PER_DEG_EQUATOR = 111.32;

export const RAD_PER_DEG = Math.PI / 180;
