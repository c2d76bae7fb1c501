// A real S3-compatible store, the one that the tests use.
import { existsSync } from 'node:fs'

export const missing = () =>
  existsSync('/usr/bin/swift-proxy-server') ? undefined : 'OpenStack Swift is not installed'

/** A store with a way to get settings for a node that keeps its content in a bucket of its own. */
export async function startStore() {
  await import('../../test/support/typescript.js')
  const { startSwift } = await import('../../test/support/swift.ts')
  const { onlooker } = await import('../../test/support/s3-client.ts')
  const swift = await startSwift()
  const eyes = onlooker(swift)
  return {
    stop: () => swift.stop(),
    async settings() {
      const bucket = swift.bucketName()
      await eyes.createBucket(bucket)
      return ['--content', swift.content(bucket), '--content-credentials', swift.credentialsFile]
    },
  }
}
