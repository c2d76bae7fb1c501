// Reads the JSON reports of the test runs: nothing may have failed, and nothing that should run may have been skipped.
//   ci-verdict.mjs again REPORT   prints the files to run once more by themselves; exit 1 when that is out of the question
//   ci-verdict.mjs REPORT…        the verdict; NAME.again.json beside NAME.json replaces the files that it has
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** More than this is not a busy machine. */
const AGAIN_MAX_FILES = 3

const read = (path) => JSON.parse(readFileSync(path, 'utf8'))
const hasFailed = (file) =>
  file.status === 'failed' || file.assertionResults.some((test) => test.status === 'failed')

function filesToRunAgain(path) {
  const failed = existsSync(path) ? read(path).testResults.filter(hasFailed) : []
  if (failed.length === 0 || failed.length > AGAIN_MAX_FILES) process.exit(1)
  for (const file of failed) process.stdout.write(`${relative(process.cwd(), file.name)}\n`)
}

function verdict(paths) {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const path of paths) {
    const second = path.replace(/\.json$/, '.again.json')
    const again = new Map(existsSync(second) ? read(second).testResults.map((file) => [file.name, file]) : [])
    const files = read(path).testResults
    if (files.length === 0) throw new Error(`${path}: no test ran`)
    for (const first of files) {
      const file = hasFailed(first) ? (again.get(first.name) ?? first) : first
      if (file !== first) nameFailures(first)
      if (file.status === 'failed' && file.assertionResults.length === 0) counts.failed += 1
      for (const { status } of file.assertionResults)
        counts[status === 'passed' || status === 'failed' ? status : 'skipped'] += 1
    }
  }
  process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
  process.exit(counts.failed === 0 && counts.skipped === 0 && counts.passed > 0 ? 0 : 1)
}

/** A test that needed a second run is shaky, or the program is: somebody has to look, whatever the verdict. */
function nameFailures(file) {
  const failed = file.assertionResults.filter((test) => test.status === 'failed')
  for (const test of failed.length > 0 ? failed : [{ fullName: 'the file' }])
    process.stdout.write(
      `SHAKY: failed among the others, judged alone: ${relative(process.cwd(), file.name)} > ${test.fullName}\n`,
    )
}

const [first, ...rest] = process.argv.slice(2)
if (first === 'again') filesToRunAgain(rest[0])
else verdict([first, ...rest])
