import { defineConfig } from 'vitest/config'

/** Suites that need gigabytes of disk or a browser; the command line says which. */
export default defineConfig({
  test: {
    include: ['test/slow/**/*.test.ts', 'test/browser/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts', 'test/support/certificate.ts'],
    fileParallelism: false,
    testTimeout: 20 * 60_000,
    // A second, which is what it would be, is short on a loaded machine.
    expect: { poll: { timeout: 30_000 } },
    hookTimeout: 120_000,
  },
})
