import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These kill processes, fuzz, move gigabytes, need a browser or many nodes; they run by configurations of their own.
    exclude: ['test/crash/**', 'test/fuzz/**', 'test/slow/**', 'test/browser/**', 'test/cluster/**'],
    globalSetup: ['test/support/postgres.ts', 'test/support/certificate.ts'],
    pool: 'forks',
    // Servers and commands that are waited for leave a third of the processors idle at one file each.
    maxWorkers: 3,
    testTimeout: 60_000,
    // A second, which is what it would be, is short on a loaded machine.
    expect: { poll: { timeout: 30_000 } },
    hookTimeout: 120_000,
  },
})
