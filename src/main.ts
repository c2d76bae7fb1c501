import { workerSettings } from './cli/worker-settings.js'

// A worker loads nothing of the command line, and a command that serves nothing does not load what serving needs.
const settings = await workerSettings()
if (settings === undefined) await (await import('./cli/program.js')).runCommandLine()
else await (await import('./cli/serve.js')).runWorker(settings)
