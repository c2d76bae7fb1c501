import { DOWNLOAD_ROUTES } from './download.js'
import { FILE_ROUTES } from './files.js'
import { FOLDER_ROUTES } from './folders.js'
import type { Route } from './route.js'
import { UPLOAD_ROUTES } from './upload.js'

/** The whole API as one table. */
export const ROUTES: readonly Route[] = [
  ...FOLDER_ROUTES,
  ...FILE_ROUTES,
  ...DOWNLOAD_ROUTES,
  ...UPLOAD_ROUTES,
]
