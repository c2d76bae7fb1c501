import { defineConfig } from 'vitest/config'

/** Three nodes, a PostgreSQL, an S3 store and a load balancer, all real: heavy, so it runs alone. */
export default defineConfig({
  test: {
    include: ['test/cluster/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts', 'test/support/certificate.ts'],
    fileParallelism: false,
    testTimeout: 5 * 60_000,
    // A second, which is what it would be, is short on a loaded machine.
    expect: { poll: { timeout: 30_000 } },
    hookTimeout: 5 * 60_000,
  },
})
