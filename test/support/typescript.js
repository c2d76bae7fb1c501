// Lets a child process of a test run the sources as they are: node --import ./test/support/typescript.js file.ts
import { existsSync, readFileSync } from 'node:fs'
import { register } from 'node:module'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) register(import.meta.url)

export async function resolve(specifier, context, next) {
  if (specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL?.endsWith('.ts')) {
    const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL)
    if (existsSync(source)) return { url: source.href, format: 'module', shortCircuit: true }
  }
  if (specifier.endsWith('.ts')) return { ...(await next(specifier, context)), format: 'module' }
  return next(specifier, context)
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context)
  const { default: typescript } = await import('typescript')
  const { outputText } = typescript.transpileModule(readFileSync(fileURLToPath(url), 'utf8'), {
    compilerOptions: {
      target: 'ES2023',
      module: 'ESNext',
      verbatimModuleSyntax: true,
      inlineSourceMap: true,
    },
  })
  return { format: 'module', source: outputText, shortCircuit: true }
}
