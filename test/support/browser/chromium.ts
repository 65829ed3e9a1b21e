export const CHROMIUM = '/usr/bin/chromium';
export const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
];
/** Software drawing on a busy machine takes its time. */
export const PATIENCE_MS = 60_000;
