import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These kill processes, fuzz, move gigabytes or need a browser; they run by configurations of their own.
    exclude: ['test/crash/**', 'test/fuzz/**', 'test/slow/**', 'test/browser/**'],
    globalSetup: ['test/support/postgres.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
