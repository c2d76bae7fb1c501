/** Another maker's client, to look at a store with other eyes than our own. */
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import type { Swift } from './swift.js'

export interface Onlooker {
  createBucket(bucket: string): Promise<void>
  keys(bucket: string): Promise<string[]>
  put(bucket: string, key: string, content: Buffer): Promise<void>
  beginUpload(bucket: string, key: string): Promise<void>
  /** The keys of the uploads in parts that are under way. */
  uploads(bucket: string): Promise<string[]>
}

export function onlooker(swift: Swift): Onlooker {
  const client = new S3Client({
    endpoint: swift.endpoint,
    region: swift.region,
    forcePathStyle: true,
    credentials: { accessKeyId: swift.accessKey, secretAccessKey: swift.secretKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  return {
    async createBucket(bucket) {
      await client.send(new CreateBucketCommand({ Bucket: bucket }))
    },
    async keys(bucket) {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }))
      return Contents.map((entry) => entry.Key ?? '')
    },
    async put(bucket, key, content) {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: content }))
    },
    async beginUpload(bucket, key) {
      await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: key }))
    },
    async uploads(bucket) {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
      return Uploads.map((entry) => entry.Key ?? '')
    },
  }
}
