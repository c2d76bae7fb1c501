/** Wrong usage: one clear line and exit status 2. */
export class UsageError extends Error {}
