// nginx with two workers: static files, uploads by its DAV module, listings as JSON and by the DAV extension module.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, untilAnswers } from '../support/net.mjs'
import { start, stop } from '../support/processes.mjs'
import { CIPHER } from '../support/tls.mjs'

const BINARY = '/usr/sbin/nginx'
const DAV_EXTENSION = '/usr/lib/nginx/modules/ngx_http_dav_ext_module.so'

export const name = 'nginx'
export const missing = () => (existsSync(BINARY) ? undefined : 'nginx is not installed')
export const davMissing = () =>
  missing() ?? (existsSync(DAV_EXTENSION) ? undefined : 'the DAV extension module of nginx is not installed')

/** Serves `files` at /, takes PUT below /upload/, lists as JSON below /index/ and by PROPFIND below /dav/. */
export async function startNginx(context, { files }) {
  const folder = context.newFolder('nginx')
  const port = await freePort()
  const url = `https://127.0.0.1:${port}`
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => {
    mkdirSync(join(folder, kind))
    return `${kind}_temp_path ${join(folder, kind)};`
  })
  const withDav = davMissing() === undefined
  const config = join(folder, 'nginx.conf')
  writeFileSync(
    config,
    `
daemon off;
${withDav ? `load_module ${DAV_EXTENSION};` : ''}
${process.getuid() === 0 ? 'user root;' : ''}
worker_processes 2;
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  default_type application/octet-stream;
  keepalive_requests 1000000000;
  client_max_body_size 0;
  ${temporary.join(' ')}
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${context.tls.certificate};
    ssl_certificate_key ${context.tls.key};
    ssl_protocols TLSv1.3;
    ssl_conf_command Ciphersuites ${CIPHER};
    root ${files};
    location /upload/ { dav_methods PUT DELETE; create_full_put_path on; }
    location /index/ { alias ${files}/; autoindex on; autoindex_format json; }
    ${withDav ? `location /dav/ { alias ${files}/; dav_ext_methods PROPFIND OPTIONS; }` : ''}
  }
}
`,
  )
  const child = start(BINARY, ['-p', folder, '-e', join(folder, 'error.log'), '-c', config])
  const tls = await untilAnswers(url, child)
  return { name, url, tls, pid: child.pid, stop: () => stop(child) }
}
