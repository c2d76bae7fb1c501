import { defineConfig } from 'vitest/config'

/**
 * The suites that kill, starve and fuzz a real server. They are heavy, so they run alone and one file after the other.
 * CRASH_POINTS=all sweeps every point; without it a sample runs. CRASH_SEED picks another reproducible run.
 */
export default defineConfig({
  test: {
    include: ['test/crash/**/*.test.ts', 'test/fuzz/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 45 * 60_000,
    // A second, which is what it would be, is short on a loaded machine.
    expect: { poll: { timeout: 30_000 } },
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
  },
})
