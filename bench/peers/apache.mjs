// Apache with mod_dav: listings by PROPFIND.
import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { freePort, untilAnswers } from '../support/net.mjs'
import { start, stop } from '../support/processes.mjs'
import { CIPHER } from '../support/tls.mjs'

const BINARY = '/usr/sbin/apache2'
const MODULES = '/usr/lib/apache2/modules'
const USER = 'www-data'

export const name = 'Apache mod_dav'
export const missing = () =>
  existsSync(BINARY) && existsSync(`${MODULES}/mod_dav_fs.so`)
    ? undefined
    : 'Apache with mod_dav is not installed'

export async function startApache(context, { files }) {
  const folder = context.newFolder('apache')
  const port = await freePort()
  const url = `https://127.0.0.1:${port}`
  const locks = join(folder, 'locks')
  mkdirSync(locks)
  const isRoot = process.getuid() === 0
  if (isRoot) {
    const id = (flag) => Number(execFileSync('id', [flag, USER], { encoding: 'utf8' }))
    chownSync(locks, id('-u'), id('-g'))
  }
  const config = join(folder, 'apache.conf')
  const modules = ['mpm_event', 'authz_core', 'mime', 'ssl', 'socache_shmcb', 'dav', 'dav_fs']
  writeFileSync(
    config,
    `
${modules.map((module) => `LoadModule ${module}_module ${MODULES}/mod_${module}.so`).join('\n')}
ServerRoot ${folder}
ServerName 127.0.0.1
Listen 127.0.0.1:${port}
PidFile ${folder}/apache.pid
DefaultRuntimeDir ${folder}
Mutex file:${folder}
ErrorLog ${folder}/error.log
LogLevel error
TypesConfig /etc/mime.types
${isRoot ? `User ${USER}\nGroup ${USER}` : ''}
StartServers 2
ServerLimit 4
ThreadsPerChild 32
MaxRequestWorkers 128
MinSpareThreads 32
MaxSpareThreads 128
KeepAlive On
MaxKeepAliveRequests 0
DocumentRoot ${files}
DavLockDB ${locks}/DavLock
SSLEngine on
SSLProtocol TLSv1.3
SSLCipherSuite TLSv1.3 ${CIPHER}
SSLCertificateFile ${context.tls.certificate}
SSLCertificateKeyFile ${context.tls.key}
<Directory ${files}>
  Dav On
  Require all granted
</Directory>
`,
  )
  const child = start(BINARY, ['-f', config, '-DFOREGROUND'])
  const tls = await untilAnswers(url, child)
  return { name, url, tls, pid: child.pid, stop: () => stop(child) }
}
