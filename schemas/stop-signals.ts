/** Signals that stop a command cleanly; SIGHUP comes when the terminal of one closes. A second one of the same kind ends it at once. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
