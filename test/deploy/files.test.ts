import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse as parseToml } from 'smol-toml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMON_SETTINGS, SERVE_SETTINGS } from '../../src/cli/settings.js'
import { DEFAULT_HTTP_LIMITS } from '../../src/http/limits.js'
import { ensureCertificate } from '../../src/http/tls.js'
import { nginxArgs } from '../support/balancer.js'
import { startServer, type TestServer } from '../support/server.js'
import {
  at,
  compose,
  container,
  deployed,
  deployedFiles,
  dockerStages,
  list,
  manifest,
  manifests,
  mapping,
  ROOT,
  millisecondsOf,
  textAt,
  type Mapping,
} from './support.js'
import type { Yaml } from './yaml.js'

const SETTINGS = new Set([...COMMON_SETTINGS, ...SERVE_SETTINGS].map(({ name }) => name))
const variableOf = (name: string): string => `STARLING_${name.toUpperCase().replaceAll('-', '_')}`
const VARIABLES = new Set(['STARLING_CONFIG', ...[...SETTINGS].map(variableOf)])
/** What the configurations of the load balancers take from the environment. */
const OF_BALANCERS = /^STARLING_(BIND|CERTIFICATE|NODES_CA|NODE_(n|\d)?(_ID)?)$/
const PORT = SERVE_SETTINGS.find(({ name }) => name === 'port')?.fallback ?? ''
const PROBES = ['startupProbe', 'readinessProbe', 'livenessProbe'] as const

/** Every value in the data under this key. */
function under(value: Yaml | undefined, key: string): Yaml[] {
  if (Array.isArray(value)) return value.flatMap((item) => under(item, key))
  if (value === null || value === undefined || typeof value === 'string') return []
  return Object.entries(value).flatMap(([name, inner]) =>
    name === key ? [inner, ...under(inner, key)] : under(inner, key),
  )
}

function environment(of: Mapping): Record<string, string> {
  const { env } = of
  return Object.fromEntries(list(env).map((entry) => [textAt(entry, 'name'), textAt(entry, 'value')]))
}

const services = (): [string, Mapping][] =>
  Object.entries(mapping(compose()['services'])).map(([name, service]) => [name, mapping(service)])
const nodesOfCompose = (): Mapping[] =>
  services()
    .filter(([, service]) => service['image'] === 'starling')
    .map(([, service]) => service)
const workloads = (): Mapping[] => [
  manifest('StatefulSet', 'starling'),
  manifest('Deployment', 'starling-balancer'),
]

describe('what deploy offers, beside the program', () => {
  it('names only settings that exist', () => {
    const names = deployedFiles().flatMap((file) =>
      [...deployed(file).matchAll(/\bSTARLING_[A-Za-z0-9_]+\b/g)].map(([name]) => `${file}: ${name}`),
    )
    expect(names.length).toBeGreaterThan(30)
    const unknown = names.filter((found) => {
      const name = found.split(': ')[1] ?? ''
      return !VARIABLES.has(name) && !OF_BALANCERS.test(name)
    })
    expect(unknown).toEqual([])
  })

  it('gives only flags that exist', () => {
    for (const unit of ['starling.service', 'starling@.service']) {
      const flags = [...deployed(unit).matchAll(/--([a-z][a-z-]*)/g)].map(([, name]) => name ?? '')
      expect(flags).toContain('data')
      const ours = flags.filter((name) => name !== 'config' && name !== 'global' && name !== 'now')
      expect(ours.filter((name) => !SETTINGS.has(name))).toEqual([])
    }
  })

  it('has config files with keys that exist', () => {
    const example = textAt(manifest('Secret', 'starling-settings'), 'stringData', 'starling.toml')
    const keys = Object.keys(parseToml(example))
    expect(keys).toEqual(['database', 'content', 'base-url'])
    expect(keys.filter((key) => !SETTINGS.has(key))).toEqual([])
  })

  it('runs a Node that package.json allows, the same one where it compiles and where it runs', () => {
    const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      engines: { node: string }
    }
    const least = Number(/^>=(\d+)$/.exec(engines.node)?.[1])
    const images = dockerStages().map(({ from }) => /^node:(\d+)-(\w+?)(-slim)?$/.exec(from))
    expect(images).toHaveLength(3)
    for (const image of images) expect(Number(image?.[1])).toBeGreaterThanOrEqual(least)
    expect(new Set(images.map((image) => `${image?.[1]} ${image?.[2]}`)).size).toBe(1)
    expect(images.at(-1)?.[3]).toBe('-slim')
  })

  it('listens and is looked for on one port', () => {
    const exposed = dockerStages()
      .at(-1)
      ?.steps.filter(([step]) => step === 'EXPOSE')
      .map(([, port]) => port)
    expect(exposed).toEqual([PORT])
    expect(deployed('Dockerfile')).toContain(`STARLING_PORT=${PORT}`)
    expect(under(manifests(), 'containerPort')).toEqual([PORT, PORT])
    for (const node of [1, 2]) {
      expect(at(compose(), 'services', 'balancer', 'environment', `STARLING_NODE_${node}`)).toMatch(
        new RegExp(`:${PORT}$`),
      )
    }
  })

  it('gives a node more time to stop than it takes', () => {
    const takes = (drainMs: string | undefined): number => Number(drainMs) + DEFAULT_HTTP_LIMITS.stopMs
    const node = manifest('StatefulSet', 'starling')
    const grace = textAt(node, 'spec', 'template', 'spec', 'terminationGracePeriodSeconds')
    expect(millisecondsOf(grace)).toBeGreaterThan(
      takes(environment(container(node))['STARLING_DRAIN_MS']) + 5000,
    )
    for (const service of nodesOfCompose()) {
      const drainMs = textAt(service, 'environment', 'STARLING_DRAIN_MS')
      expect(millisecondsOf(textAt(service, 'stop_grace_period'))).toBeGreaterThan(takes(drainMs) + 5000)
    }
    for (const unit of ['starling.service', 'starling@.service']) {
      const seconds = /^TimeoutStopSec=(\d+)$/m.exec(deployed(unit))?.[1] ?? ''
      expect(millisecondsOf(seconds)).toBeGreaterThan(takes('5000') + 5000)
    }
  })

  it('takes every image by its plain name and a version, and ours as it is built', () => {
    const images = [...under(compose()['services'], 'image'), ...under(manifests(), 'image')].map(String)
    expect(images.length).toBeGreaterThan(6)
    for (const image of images) expect(image).toMatch(/^(starling|([a-z]+\/)?[a-z]+:[\w.-]+)$/)
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    expect(container(manifest('StatefulSet', 'starling'))['image']).toBe(`starling:${version}`)
  })

  it('gives no container more than it needs', () => {
    for (const [name, service] of services()) {
      expect([name, service['read_only'], service['cap_drop'], service['security_opt']]).toEqual([
        name,
        'true',
        ['ALL'],
        ['no-new-privileges:true'],
      ])
      expect(service['privileged']).toBeUndefined()
    }
    for (const node of nodesOfCompose()) expect(node['cap_add']).toBeUndefined()
    for (const workload of workloads()) {
      const pod = mapping(at(workload, 'spec', 'template', 'spec'))
      expect(pod['automountServiceAccountToken']).toBe('false')
      expect(pod['securityContext']).toMatchObject({
        runAsNonRoot: 'true',
        seccompProfile: { type: 'RuntimeDefault' },
      })
      expect(container(workload)['securityContext']).toEqual({
        allowPrivilegeEscalation: 'false',
        readOnlyRootFilesystem: 'true',
        capabilities: { drop: ['ALL'] },
      })
    }
    const last = dockerStages().at(-1)?.steps ?? []
    expect(last.filter(([step]) => step === 'USER')).toEqual([['USER', '1000:1000']])
    expect(at(workloads()[0], 'spec', 'template', 'spec', 'securityContext', 'runAsUser')).toBe('1000')
  })

  it('has two units of systemd that differ in nothing but the name of the node', () => {
    const rest = (unit: string): string =>
      deployed(unit)
        .replace(/^#.*\n/gm, '')
        .replace(/^(Description|StateDirectory|EnvironmentFile|ExecStart)=.*\n/gm, '')
    expect(rest('starling@.service')).toBe(rest('starling.service'))
    expect(deployed('starling@.service').match(/%i/g)?.length).toBe(5)
  })
})

describe('the manifests for Kubernetes', () => {
  const ids = (): Record<string, string> =>
    mapping(manifest('ConfigMap', 'starling-node-ids')['data']) as Record<string, string>

  it('give every node an id of its own, which HAProxy knows it by', () => {
    const node = manifest('StatefulSet', 'starling')
    const replicas = Number(at(node, 'spec', 'replicas'))
    expect(Object.keys(ids())).toEqual(Array.from({ length: replicas }, (_, index) => `starling-${index}`))
    for (const id of Object.values(ids())) expect(id).toMatch(/^[0-9a-f]{32}$/)
    expect(new Set(Object.values(ids())).size).toBe(replicas)
    const haproxy = container(manifest('Deployment', 'starling-balancer'))
    for (const [index, pod] of Object.keys(ids()).entries()) {
      const address = environment(haproxy)[`STARLING_NODE_${index + 1}`]
      expect(address).toBe(
        `${pod}.${textAt(node, 'spec', 'serviceName')}.$(POD_NAMESPACE).svc.cluster.local:${PORT}`,
      )
      const id = list(haproxy['env']).find((entry) => at(entry, 'name') === `STARLING_NODE_${index + 1}_ID`)
      expect(at(id, 'valueFrom', 'configMapKeyRef')).toEqual({ name: 'starling-node-ids', key: pod })
    }
  })

  it('mount only what is there, and use all that they mount', () => {
    const kept = new Set(
      manifests().map((one) => `${textAt(one, 'kind')} ${textAt(one, 'metadata', 'name')}`),
    )
    // Made of haproxy.cfg by the kustomization.
    expect(deployed('kustomization.yaml')).toMatch(
      /configMapGenerator:\n +- name: starling-haproxy\n +files:\n +- haproxy.cfg\n/,
    )
    kept.add('ConfigMap starling-haproxy')
    for (const workload of workloads()) {
      const pod = mapping(at(workload, 'spec', 'template', 'spec'))
      const volumes = list(pod['volumes']).map(mapping)
      for (const { configMap, secret } of volumes) {
        if (configMap !== undefined) expect(kept).toContain(`ConfigMap ${textAt(configMap, 'name')}`)
        if (secret !== undefined) expect(kept).toContain(`Secret ${textAt(secret, 'secretName')}`)
      }
      const claims = list(at(workload, 'spec', 'volumeClaimTemplates')).map((claim) =>
        at(claim, 'metadata', 'name'),
      )
      const mounted = list(container(workload)['volumeMounts']).map((mount) => at(mount, 'name'))
      expect([...mounted].sort()).toEqual([...volumes.map(({ name }) => name), ...claims].sort())
    }
  })

  it('find the files that the settings name where they mount them', () => {
    const node = manifest('StatefulSet', 'starling')
    const variables = environment(container(node))
    const secrets: Record<string, string> = {
      '/etc/starling': 'starling-settings',
      '/etc/starling-tls': 'starling-nodes-tls',
    }
    for (const name of ['CONFIG', 'CONTENT_CREDENTIALS', 'TLS_CERT', 'TLS_KEY']) {
      const path = variables[`STARLING_${name}`] ?? ''
      const [folder = '', file = ''] = [
        path.slice(0, path.lastIndexOf('/')),
        path.slice(path.lastIndexOf('/') + 1),
      ]
      const mount = list(container(node)['volumeMounts']).find((one) => at(one, 'mountPath') === folder)
      const volume = list(at(node, 'spec', 'template', 'spec', 'volumes')).find(
        (one) => at(one, 'name') === at(mount, 'name'),
      )
      expect(at(volume, 'secret', 'secretName')).toBe(secrets[folder])
      expect(Object.keys(mapping(manifest('Secret', secrets[folder] ?? '')['stringData']))).toContain(file)
    }
  })

  it('select what they are meant to select', () => {
    for (const [selector, workload] of [
      [at(manifest('Service', 'starling-nodes'), 'spec', 'selector'), workloads()[0]],
      [at(manifest('PodDisruptionBudget', 'starling'), 'spec', 'selector', 'matchLabels'), workloads()[0]],
      [at(manifest('NetworkPolicy', 'starling-nodes'), 'spec', 'podSelector', 'matchLabels'), workloads()[0]],
      [at(workloads()[0], 'spec', 'selector', 'matchLabels'), workloads()[0]],
      [at(manifest('Service', 'starling'), 'spec', 'selector'), workloads()[1]],
      [
        at(manifest('PodDisruptionBudget', 'starling-balancer'), 'spec', 'selector', 'matchLabels'),
        workloads()[1],
      ],
      [at(workloads()[1], 'spec', 'selector', 'matchLabels'), workloads()[1]],
    ] as const) {
      expect(selector).toEqual(at(workload, 'spec', 'template', 'metadata', 'labels'))
    }
  })
})

describe('health, as the deployments ask for it', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer('sqlite')
  })
  afterAll(() => server.stop())

  it('is answered at every path that a probe or a load balancer names', async () => {
    const node = container(manifest('StatefulSet', 'starling'))
    const paths = new Set([
      ...PROBES.map((probe) => textAt(node, probe, 'httpGet', 'path')),
      ...[...deployed('haproxy.cfg').matchAll(/http-check send .*uri (\S+)/g)].map(([, path]) => path ?? ''),
      ...[...deployed('healthcheck.mjs').matchAll(/path: '([^']+)'/g)].map(([, path]) => path ?? ''),
    ])
    expect([...paths].sort()).toEqual(['/healthz', '/readyz'])
    for (const path of paths) {
      const { status } = await server.client().call('GET', path, { absolute: true })
      expect([path, status]).toEqual([path, 200])
    }
  })

  it('is watched by metrics that exist', async () => {
    const guide = readFileSync(join(ROOT, 'docs', 'operating.md'), 'utf8')
    const named = new Set(
      [...guide.matchAll(/\b(?:starling|nodejs|process)_[a-z_]+\b/g)].map(([name]) => name),
    )
    expect(named.size).toBeGreaterThan(4)
    const { text } = await server.client().call('GET', '/metrics', { absolute: true })
    // Nodes with a local copy have more; and one of these is a database.
    const always = [...named].filter((name) => !/^starling_(replica_|restored$)/.test(name))
    for (const name of always) expect(text).toContain(name)
  })

  it('is told by the exit status of the check in the container', async () => {
    const check = join(ROOT, 'deploy', 'healthcheck.mjs')
    const env = { STARLING_PORT: String(server.port) }
    const { stdout } = await promisify(execFile)(process.execPath, [check], { env })
    expect(stdout).toBe('status 200\n')
    await expect(
      promisify(execFile)(process.execPath, [check], { env: { STARLING_PORT: '1' } }),
    ).rejects.toMatchObject({ code: 1 })
  })
})

describe('the load balancers', () => {
  let folder: string
  const names: Record<string, string> = {}
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starling-deploy-'))
    await ensureCertificate(folder, hostname())
    const [cert, key] = ['cert.pem', 'key.pem'].map((name) => readFileSync(join(folder, name), 'utf8'))
    await writeFile(join(folder, 'both.pem'), `${cert}\n${key}`)
    Object.assign(names, {
      STARLING_BIND: '127.0.0.1:8443',
      STARLING_CERTIFICATE: join(folder, 'both.pem'),
      STARLING_NODES_CA: join(folder, 'cert.pem'),
    })
    for (const number of [1, 2, 3]) {
      names[`STARLING_NODE_${number}`] = `127.0.0.1:${8443 + number}`
      names[`STARLING_NODE_${number}_ID`] = String(number).repeat(32)
    }
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const without = (...left: string[]): Record<string, string> =>
    Object.fromEntries(Object.entries(names).filter(([name]) => !left.includes(name)))
  const check = (env: Record<string, string>): Promise<unknown> =>
    promisify(execFile)('/usr/sbin/haproxy', ['-c', '-f', join(ROOT, 'deploy', 'haproxy.cfg')], { env })

  it('HAProxy takes its configuration, for three nodes and for two, by address and by name', async () => {
    await check(names)
    await check(without('STARLING_NODE_3', 'STARLING_NODE_3_ID'))
    await check({ ...names, STARLING_NODE_2: 'node-two.invalid:8443' })
    await expect(check(without('STARLING_CERTIFICATE'))).rejects.toThrow()
  })

  it('nginx takes its configuration', async () => {
    await promisify(execFile)('/usr/sbin/nginx', ['-t', ...(await nginxArgs(folder, names))])
  })
})
