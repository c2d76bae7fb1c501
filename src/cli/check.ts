import type { Command } from 'commander'
import { check, type Finding } from '../service/check.js'
import { withInstallation } from './context.js'
import { leaf } from './leaf.js'

export function addCheckCommand(program: Command): void {
  leaf(program, 'check', 'walk metadata and content and name every broken invariant').action(
    async (_: unknown, command: Command) => {
      process.exitCode = await withInstallation(command, async (context) => {
        const { db, nodeId, parts } = context.installation
        const findings: Finding[] = []
        for await (const finding of check({
          db,
          blobs: parts.blobs,
          staging: parts.staging,
          replica: parts.replica,
          nodeId,
          now: parts.now,
        })) {
          if (context.isJson) findings.push(finding)
          else process.stdout.write(`${finding.invariant}: ${finding.subject}: ${finding.detail}\n`)
          if (!context.isJson) findings.push(finding)
        }
        if (context.isJson) process.stdout.write(`${JSON.stringify(findings)}\n`)
        else if (findings.length === 0) process.stdout.write('no broken invariant\n')
        return findings.length === 0 ? 0 : 1
      })
    },
  )
}
