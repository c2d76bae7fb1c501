// Reads the JSON reports of the test runs: nothing may have failed, and nothing that should run may have been skipped.
import { readFileSync } from 'node:fs'

let passed = 0
let failed = 0
let skipped = 0
for (const path of process.argv.slice(2)) {
  const report = JSON.parse(readFileSync(path, 'utf8'))
  if (report.numTotalTests === 0) throw new Error(`${path}: no test ran`)
  passed += report.numPassedTests
  failed += report.numFailedTests
  skipped += report.numPendingTests + report.numTodoTests
}
process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`)
process.exit(failed === 0 && skipped === 0 && passed > 0 ? 0 : 1)
