import { DEVICE_ROUTES } from './devices.js'
import { DOWNLOAD_ROUTES } from './download.js'
import { FILE_ROUTES } from './files.js'
import { FOLDER_ROUTES } from './folders.js'
import { GROUP_ROUTES } from './groups.js'
import { INVITATION_ROUTES } from './invitations.js'
import { INVITEE_ROUTES } from './invitees.js'
import { MEMBER_ROUTES } from './members.js'
import { PASSWORD_ROUTES } from './passwords.js'
import { PENDING_ROUTES } from './pending.js'
import { QUOTA_ROUTES } from './quota.js'
import type { Route } from './route.js'
import { SHARE_GROUP_ROUTES } from './share-groups.js'
import { SHARE_ROUTES } from './shares.js'
import { TWO_FACTOR_ROUTES } from './two-factor.js'
import { UPLOAD_ROUTES } from './upload.js'
import { USER_ROUTES } from './users.js'

/** The whole API as one table. */
export const ROUTES: readonly Route[] = [
  ...FOLDER_ROUTES,
  ...FILE_ROUTES,
  ...DOWNLOAD_ROUTES,
  ...UPLOAD_ROUTES,
  ...USER_ROUTES,
  ...PASSWORD_ROUTES,
  ...TWO_FACTOR_ROUTES,
  ...INVITEE_ROUTES,
  ...DEVICE_ROUTES,
  ...QUOTA_ROUTES,
  ...SHARE_ROUTES,
  ...MEMBER_ROUTES,
  ...PENDING_ROUTES,
  ...INVITATION_ROUTES,
  ...SHARE_GROUP_ROUTES,
  ...GROUP_ROUTES,
]
